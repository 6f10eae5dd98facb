/* The search boxes: suggestions while typing, and the chip of the project or context that a search is limited to.
   The server renders the list. Uses keys, find, all and say of app.js, which is loaded first. */
"use strict";

{ /* a block, since the scripts of a page share one scope */
  const box = find("[data-suggest]");
  const list = find("#suggestions");

  /* The chip goes by its cross, by Backspace at the start of the box, or by Alt-W. A page of results
     answers anew, and what it shows of the project goes too. A page of passages is loaded for that. */

  const widen = () => {
    if (box.form.id === "research" && box.defaultValue) {
      const address = new URL(find("[data-scope] [data-widen]").href);
      address.searchParams.set("q", box.value);
      location.assign(address);
      return;
    }
    find("[data-scope]")?.remove();
    if (box.form.matches("#search, #research")) all("[data-of-scope]").forEach((part) => part.remove());
    box.setAttribute("aria-label", "Search all code");
    box.placeholder = "Search code";
    box.focus();
    say("Searching all projects");
    box.form.dispatchEvent(new Event("widened"));
  };

  const isAtStart = () => box.selectionStart === 0 && box.selectionEnd === 0;

  const follow = () => {
    document.addEventListener("click", (event) => {
      if (!event.target.closest("[data-widen]") || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      widen();
    });
    document.addEventListener("keydown", (event) => {
      const isShortcut = event.altKey && !event.ctrlKey && !event.metaKey && event.code === "KeyW";
      const isErased = event.key === "Backspace" && !event.repeat && event.target === box && isAtStart();
      if (!(isShortcut || isErased) || !find("[data-scope]")) return;
      event.preventDefault();
      widen();
    });
  };


  /* Suggestions: an ARIA combobox. The list stays open until a search starts or the box loses focus; Enter
     searches unless an entry is chosen. A list may be of an older text than that of the box: its links are
     followed, and its queries are taken if they lose nothing that was typed. When the newer list arrives,
     the same entry is chosen in it. */

  let isListWanted = false;
  let listedFor = ""; /* the text that the list is for */
  let choice = null; /* the chosen entry, which another list may have replaced */
  let pressed = null; /* the entry that the mouse button was pressed on, likewise */
  const entries = () => all("[role=option]", list);
  const chosen = () => find("[aria-selected=true]", list);
  const contentOf = ({ dataset }) => dataset.go || dataset.query;
  const sameAs = (entry) => entries().find((each) => contentOf(each) === contentOf(entry));
  const losesNothing = (entry) => entry.dataset.query.startsWith(box.value)
    || (listedFor === box.value && sameAs(entry) !== undefined);

  const choose = (entry) => {
    choice = entry;
    chosen()?.setAttribute("aria-selected", "false");
    entry?.setAttribute("aria-selected", "true");
    entry?.scrollIntoView({ block: "nearest" });
    if (entry) box.setAttribute("aria-activedescendant", entry.id);
    else box.removeAttribute("aria-activedescendant");
  };

  const showList = (isShown) => {
    choose(null);
    list.hidden = !isShown;
    box.setAttribute("aria-expanded", String(isShown));
  };

  const closeList = () => { isListWanted = false; showList(false); };

  const take = (entry) => {
    if (!entry.dataset.go && !losesNothing(entry)) return;
    closeList();
    if (entry.dataset.go) {
      box.blur(); /* so that the page has the address of its results when one comes back */
      location.assign(entry.dataset.go);
      return;
    }
    box.value = entry.dataset.query;
    box.focus();
    box.dispatchEvent(new Event("input", { bubbles: true }));
  };

  const goThrough = (by) => {
    const shown = entries();
    const at = shown.indexOf(chosen()) + by;
    choose(shown[at < -1 ? shown.length - 1 : at] || null);
  };

  const listKeys = {
    ArrowDown: () => {
      if (!entries().length) { keys.j?.(); return; } /* no suggestions, so go to the results */
      isListWanted = true;
      if (list.hidden) showList(true);
      goThrough(1);
    },
    ArrowUp: () => goThrough(-1),
    Escape: closeList,
  };

  const prepare = () => {
    box.setAttribute("role", "combobox");
    box.setAttribute("aria-autocomplete", "list");
    box.setAttribute("aria-controls", list.id);
    showList(false);

    box.addEventListener("input", () => {
      choose(null);
      isListWanted = box.selectionEnd === box.value.length;
      if (!isListWanted || !box.value.trim()) closeList();
    });
    box.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (event.key === "Enter" && !list.hidden && chosen()) {
        event.preventDefault();
        take(chosen());
        return;
      }
      if (event.key === "Enter" || event.key === "Tab") closeList();
      const act = listKeys[event.key];
      if (!act || (list.hidden && event.key !== "ArrowDown")) return;
      act();
      event.preventDefault();
      event.stopPropagation();
    });
    box.addEventListener("blur", closeList);
    list.addEventListener("mousedown", (event) => {
      event.preventDefault();
      pressed = event.button === 0 ? event.target.closest("[role=option]") : null;
    });
    document.addEventListener("mouseup", (event) => {
      if (event.button !== 0) return;
      const entry = pressed;
      pressed = null;
      if (entry && !entry.isConnected && list.contains(event.target)) take(entry); /* no click follows */
    });
    list.addEventListener("click", (event) => {
      const entry = event.target.closest("[role=option]");
      if (entry) take(entry);
    });
    box.form.addEventListener("submit", closeList);
    document.addEventListener("htmx:after:swap", ({ detail }) => {
      if (detail.ctx?.target !== list) return;
      listedFor = new URL(detail.ctx.request.action, location.href).searchParams.get("q");
      const before = choice;
      showList(isListWanted && entries().length > 0 && document.activeElement === box);
      if (before && !list.hidden) choose(sameAs(before) || null);
    });
  };

  if (box) {
    prepare();
    follow();
  }
}
