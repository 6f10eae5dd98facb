/* The map of meaning: names of dots, and arrow keys between them. Uses find and all of app.js, which is
   loaded first. */
"use strict";

{ /* a block, since the scripts of a page share one scope */
  const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  const dotsOf = (map) => all("a", map);
  const placeOf = (dot) => {
    const circle = find("circle", dot);
    return [circle.cx.baseVal.value, circle.cy.baseVal.value];
  };

  /* Only one dot is in the tab order (a roving tabindex). */
  const prepare = () => {
    for (const map of all("[data-map]:not([data-ready])")) {
      map.dataset.ready = "";
      dotsOf(map).forEach((dot, number) => { dot.setAttribute("tabindex", number ? "-1" : "0"); });
    }
  };

  const tell = (target) => {
    const dot = target.closest?.("[data-map] a");
    if (!dot) return;
    find("[data-map-told]", dot.closest("section")).textContent = find("title", dot).textContent;
  };

  /* The nearest dot in a direction; sideways distance counts twice. */
  const nextOf = (from, [right, down]) => {
    const [x, y] = placeOf(from);
    let best = null;
    let least = Infinity;
    for (const dot of dotsOf(from.closest("[data-map]"))) {
      const [otherX, otherY] = placeOf(dot);
      const along = (otherX - x) * right + (otherY - y) * down;
      const aside = Math.abs((otherX - x) * down) + Math.abs((otherY - y) * right);
      if (along > 0 && along + 2 * aside < least) [best, least] = [dot, along + 2 * aside];
    }
    return best;
  };

  document.addEventListener("keydown", (event) => {
    const from = event.target.closest?.("[data-map] a");
    const direction = DIRECTIONS[event.key];
    if (!from || !direction || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    const next = nextOf(from, direction);
    if (!next) return;
    from.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
  document.addEventListener("pointerover", (event) => tell(event.target));
  document.addEventListener("focusin", (event) => tell(event.target));
  document.addEventListener("htmx:after:swap", prepare);
  document.addEventListener("DOMContentLoaded", prepare);
}
