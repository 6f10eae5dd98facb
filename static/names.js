/* Names in the code of a file: their panel with definitions and references. Without scripts they are
   links to the same page with the panel. Uses keys, find, all and say of app.js, which is loaded
   first, and keys of results.js. */
"use strict";

{ /* a block, since the scripts of a page share one scope */
  const panel = find("#names");
  const body = find("#names-body");
  const code = find(".file-code:not(.rendered)");
  const namesOf = () => all("code a", code);
  const placeOf = (link) => /[?&]name=(\d+:\d+)/.exec(link.getAttribute("href"))?.[1];
  const nameAt = (element) => {
    const link = element?.closest("code a");
    return code?.contains(link) ? link : null;
  };
  const isOpen = () => panel !== null && !panel.hidden;

  let last = null; /* the name of the last click */
  let afterwards = null; /* what is done when the panel has arrived */

  /* The name of the open panel, and its other places in this file. A panel that tells of a change has
     no name: another one may stand at its place. */

  const mark = () => {
    const current = panel.hidden ? "" : panel.dataset.name;
    const places = new Set(all("[data-at]", body).flatMap((each) => each.dataset.at.split(" ")));
    for (const link of all("code a.same, code a[aria-current]", code)) {
      link.classList.remove("same");
      link.removeAttribute("aria-current");
    }
    if (!current) return;
    places.delete(current);
    for (const place of places) linkAt(place)?.classList.add("same");
    linkAt(current)?.setAttribute("aria-current", "true");
  };

  let byPlace = null; /* made once: a large file has thousands of names */
  const linkAt = (place) => {
    byPlace ||= new Map(namesOf().map((link) => [placeOf(link), link]));
    return byPlace.get(place);
  };

  /* The address: the place of the name, the content that it is in, and its line as the fragment. */

  const addressOf = (place) => {
    const address = new URL(location.href);
    for (const name of ["uses", "name", "of"]) address.searchParams.delete(name);
    if (place) {
      address.searchParams.set("of", code.dataset.version);
      address.searchParams.set("name", place);
      address.hash = `L${place.split(":")[0]}`;
    }
    address.search = address.search.replaceAll("%3A", ":");
    return address;
  };

  const load = (address) => {
    panel.classList.add("waiting");
    htmx.ajax("GET", address, { source: body, target: body, swap: "innerHTML" });
  };

  const open = (place, act, address = addressOf(place)) => {
    afterwards = act || null;
    if (isOpen() && panel.dataset.name === place && !panel.classList.contains("waiting")) {
      settle();
      return;
    }
    if (panel.dataset.name !== place) body.replaceChildren();
    panel.dataset.name = place;
    panel.hidden = false;
    mark();
    const link = linkAt(place);
    if (link) {
      last = link;
      link.scrollIntoView({ block: "nearest" });
    }
    load(address.pathname + address.search);
  };

  const show = (place, act) => {
    const address = addressOf(place);
    if (address.href !== location.href) history.pushState(null, "", address);
    open(place, act);
  };

  const hide = () => {
    afterwards = null;
    panel.hidden = true;
    panel.dataset.name = "";
    mark();
  };

  const close = () => {
    const place = panel.dataset.name;
    const hadFocus = panel.contains(document.activeElement);
    hide();
    history.pushState(null, "", addressOf(""));
    if (hadFocus) (linkAt(place) || last)?.focus({ preventScroll: true });
  };

  const settle = () => {
    panel.classList.remove("waiting");
    mark();
    const act = afterwards;
    afterwards = null;
    find("#names-told").textContent = find("[data-told]", body)?.dataset.told || "";
    act?.();
  };

  /* A newer request replaces the one that is under way, and is answered for both. */
  let underWay = null;
  document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
    if (ctx.sourceElement === body) underWay = ctx;
  });
  document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => {
    if (ctx !== underWay) return;
    underWay = null;
    if (ctx.status === "swapped") {
      settle();
      return;
    }
    panel.classList.remove("waiting");
    afterwards = null;
    if (!body.hasChildNodes()) hide();
    if (ctx.response) say("The server could not answer"); /* else it is gone, which is shown */
  });

  /* Definition: to the only certain one at once, else to their list. References: to their list. */

  const toDefinition = () => {
    const sure = all("[data-definition][data-sure]", body);
    const every = all("[data-definition]", body);
    if (sure.length === 1 && every.length === 1) sure[0].click();
    else (every[0] || find("[data-entry]", body) || panel).focus();
  };
  const toReferences = () => (find("[data-use]", body) || panel).focus();

  const linesOfAddress = () => {
    const found = /^#L(\d+)(?:-L(\d+))?$/.exec(location.hash);
    if (!found) return [];
    const ends = [Number(found[1]), Number(found[2] || found[1])];
    return all(".line", code).slice(Math.min(...ends) - 1, Math.max(...ends));
  };

  /* The name of the open panel or of the last click, if it stands in these lines, else the one that the
     first of them defines, or its first one. */
  const nameIn = (lines) => {
    const isIn = (link) => link && lines.includes(link.closest(".line"));
    const clicked = [isOpen() ? linkAt(panel.dataset.name) : null, last].find(isIn);
    return clicked || find("code a:has(.nf, .nc, .fm)", lines[0]) || find("code a", lines[0]);
  };

  /* The name at the focus, of the open panel unless a line number has the focus, of the lines of the
     address, or of the last click. */
  const chosen = () => {
    const focus = document.activeElement;
    const focused = nameAt(focus);
    if (focused) return placeOf(focused);
    if (isOpen() && !(code.contains(focus) && focus.matches(".n"))) return panel.dataset.name;
    const lines = linesOfAddress();
    const link = lines.length ? nameIn(lines) : last;
    return link ? placeOf(link) : null;
  };

  const act = (then) => () => {
    const place = chosen();
    if (place) show(place, then);
    else say("Click a name in the code first");
  };

  if (panel && code) {
    keys.d = act(toDefinition);
    keys.r = act(toReferences);
    keys.Escape = () => { if (isOpen()) close(); };
    const toSymbols = keys.s;
    keys.s = () => { if (isOpen()) close(); toSymbols(); }; /* the panel can cover the symbols */
  }

  document.addEventListener("click", (event) => {
    if (!code) return;
    const link = nameAt(event.target);
    if (link) {
      if (event.shiftKey || event.altKey) return;
      event.preventDefault();
      show(placeOf(link), event.ctrlKey || event.metaKey ? toDefinition : null);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const role = event.target.closest("#names [data-role]");
    if (event.target.closest("[data-close-name]")) {
      event.preventDefault();
      close();
    } else if (role) {
      event.preventDefault();
      const address = new URL(role.href);
      history.replaceState(null, "", address);
      afterwards = () => find("#names .roles [aria-current]")?.focus();
      load(address.pathname + address.search);
    }
  });

  /* In the panel arrow keys, j and k move from entry to entry. In the code they move from name to
     name; the code is one stop of the Tab key, and from a line number Tab goes on to the next name. */

  const entries = () => all("[data-entry], summary", body).filter((each) => each.checkVisibility());

  const moveInPanel = (by) => {
    const shown = entries();
    const at = shown.indexOf(document.activeElement);
    shown[at < 0 ? (by > 0 ? 0 : shown.length - 1) : at + by]?.focus();
  };
  const isAmongHits = () => document.activeElement?.closest("[data-hit], .group") !== null;
  for (const [key, by] of [["j", 1], ["k", -1]]) {
    const among = keys[key];
    keys[key] = (event) => (isOpen() && !isAmongHits() ? moveInPanel(by) : among?.(event));
  }

  const stopAt = (link) => {
    all('code a[tabindex="0"]', code).forEach((each) => { each.tabIndex = -1; });
    link.tabIndex = 0;
  };

  const focusName = (link) => {
    if (!link) return;
    stopAt(link);
    link.focus();
  };

  const moveInCode = (from, key) => {
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const names = namesOf();
      focusName(names[names.indexOf(from) + (key === "ArrowRight" ? 1 : -1)]);
      return;
    }
    const step = key === "ArrowDown" ? "nextElementSibling" : "previousElementSibling";
    const left = from.getBoundingClientRect().left;
    let line = from.closest(".line");
    do {
      const beyond = line.closest(".block")[step];
      line = line[step] || (beyond && all(".line", beyond).at(key === "ArrowDown" ? 0 : -1));
    } while (line && !find("code a", line));
    const distance = (link) => Math.abs(link.getBoundingClientRect().left - left);
    if (line) focusName(all("code a", line).sort((a, b) => distance(a) - distance(b))[0]);
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const name = nameAt(event.target);
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (name && /^Arrow/.test(event.key)) moveInCode(name, event.key);
    else if (by && panel?.contains(event.target)) moveInPanel(by);
    else return;
    event.preventDefault();
  });

  const start = () => {
    namesOf().forEach((link, number) => { link.tabIndex = number ? -1 : 0; });
    if (isOpen()) {
      mark();
      last = linkAt(panel.dataset.name) || null;
      if (last) stopAt(last);
    }
  };
  if (panel && code) document.addEventListener("DOMContentLoaded", start);

  code?.addEventListener("focusin", ({ target }) => {
    if (target.matches("code a") && target.tabIndex !== 0) focusName(target);
    if (!target.matches(".n")) return;
    const isBehind = (link) => target.compareDocumentPosition(link) & Node.DOCUMENT_POSITION_FOLLOWING;
    const next = namesOf().find(isBehind);
    if (next) stopAt(next);
  });
  code?.addEventListener("dragstart", (event) => event.preventDefault()); /* select text instead */

  /* Back and forward. */

  addEventListener("popstate", () => {
    if (!panel || !code) return;
    const place = new URLSearchParams(location.search).get("name") || "";
    if (place === (isOpen() ? panel.dataset.name : "")) return;
    if (place) open(place, null, location); /* with the role that the panel was narrowed to */
    else hide();
  });
}
