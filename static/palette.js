/* The palette: Ctrl-K or Cmd-K opens it on any page. The server lists projects, actions, symbols and
   files; the recent searches of this browser are added here. Uses keys, find, all and say of app.js,
   kept.js and picker.js, which are loaded first. */
"use strict";

{ /* a block, since the scripts of a page share one scope */
  const MOST = { all: 5, typed: 3 }; /* recent searches shown */
  const isMac = /mac|iphone|ipad/i.test(navigator.platform);
  const palette = find("#palette");

  const open = () => {
    if (palette.open) {
      picker.close(palette);
      return;
    }
    find("#palette-project").value = picker.project();
    picker.forget(palette); /* the list may belong to another moment */
    picker.open(palette);
  };

  for (const each of all("[data-palette-key]")) each.textContent = isMac ? "⌘K" : "Ctrl K";

  document.addEventListener("keydown", (event) => {
    const isShortcut = (isMac ? event.metaKey : event.ctrlKey) && !event.altKey && !event.shiftKey;
    if (!isShortcut || event.key.toLowerCase() !== "k" || event.isComposing) return;
    event.preventDefault();
    open();
  });

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-open-palette]")) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });

  /* Recent searches: the newest, or those with all typed words. */

  const recent = () => {
    const words = find("#palette-box").value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = kept.read("recent").filter((each) => words.every((word) => each.q.toLowerCase().includes(word)));
    return found.slice(0, words.length ? MOST.typed : MOST.all);
  };

  palette.addEventListener("listed", () => {
    const searches = recent();
    if (!searches.length) return;
    const group = find("#palette-recent").content.cloneNode(true);
    const [pattern, clear] = all("[role=option]", group);
    searches.forEach((each, number) => {
      const row = pattern.cloneNode(true);
      row.id = `palette-recent-${number}`;
      row.href = kept.addressOf(each);
      find(".picked-text", row).textContent = each.name;
      find(".picked-note", row).textContent = kept.factsOf(each);
      pattern.before(row);
    });
    pattern.remove();
    const search = find("[data-group=search]", palette); /* only in the list of a text */
    if (search) {
      clear.remove();
      search.before(group);
    } else find("#palette-found-list").prepend(group);
  });

  /* Entries that are no links. */

  const acts = {
    clear: () => {
      kept.write("recent", []);
      document.dispatchEvent(new Event("recent-cleared"));
      say("Recent searches cleared");
    },
    finder: () => picker.findFile(),
    keys: () => keys["?"](),
    theme: () => find("[data-theme-switch]").requestSubmit(),
  };

  /* Send a form without fields, as a button of a page would. */
  const send = (address) => {
    const form = document.createElement("form");
    form.method = "post";
    form.action = address;
    document.body.append(form);
    form.submit();
  };

  palette.addEventListener("click", (event) => {
    const option = event.target.closest("div[role=option]");
    if (!option) return;
    picker.close(palette);
    if (option.dataset.form) send(option.dataset.form);
    else acts[option.dataset.act]();
  });
}
