/* The page of a symbol. Uses keys, areLettersOn, find, all and say of app.js, which is loaded first. */
"use strict";

{
  /* d opens the definition: of the caller, callee, type or test at the focus, or of this symbol. */

  keys.d = () => {
    const row = document.activeElement?.closest(".call");
    (row ? find(".call-name a", row) : find("[data-definition]"))?.click();
  };

  /* r goes to the references; from there arrow keys, j and k move from entry to entry. */

  const entries = () => all(".symbol-uses [data-entry], .symbol-uses summary").filter((each) => each.checkVisibility());
  const go = (place, block = "nearest") => {
    place?.focus({ preventScroll: true });
    place?.scrollIntoView({ block });
  };

  keys.r = () => {
    if (entries().length) go(entries()[0], "center");
    else say(find("#around") ? "The references are not here yet" : "No references");
  };

  /* What is around a name that stands in many places comes after the definition. The address then has it
     too, for the way back, and what its fragment names is scrolled to, unless one has scrolled on. A focus
     on the link that is replaced goes to what came. The tests, which come when they are scrolled to, do not
     move a reference that has the focus, or a click on it would miss it. */
  const scrolledAtFirst = scrollY;
  let hadFocus = false;
  let use = null; /* the reference with the focus */
  let useTop = 0;
  const tell = (text) => { find("#around-state").textContent = text; };
  document.addEventListener("htmx:before:swap", ({ detail }) => {
    const { target } = detail.ctx;
    if (target?.id === "around") hadFocus = target.contains(document.activeElement);
    use = document.activeElement?.closest(".symbol-uses") ? document.activeElement : null;
    useTop = use?.getBoundingClientRect().top;
  });
  document.addEventListener("htmx:after:swap", ({ detail }) => {
    const { target } = detail.ctx;
    if (target?.id === "around") {
      history.replaceState(history.state, "", target.getAttribute("hx-get") + location.hash);
      if (hadFocus) find("#callers")?.focus({ preventScroll: true });
      if (location.hash && scrollY === scrolledAtFirst) document.getElementById(location.hash.slice(1))?.scrollIntoView();
      find("#around-state").classList.add("unseen");
      tell("Callers, callees and references loaded");
    }
    if (use?.isConnected) scrollBy(0, use.getBoundingClientRect().top - useTop);
  });

  document.addEventListener("htmx:finally:request", ({ detail }) => {
    if (detail.ctx.sourceElement === find("#around")) tell("Loading callers, callees and references failed");
  });

  document.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (!areLettersOn && event.key.length === 1) return;
    const shown = entries();
    const at = shown.indexOf(event.target);
    if (at < 0) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    go(shown[at + by]);
  }, true);
}
