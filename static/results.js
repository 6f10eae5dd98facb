/* Lists of hits. Uses keys, find, all, copy and say of app.js, which is loaded first. */
"use strict";

/* Keys: j and k move between results, the others act on the focused one. */

const hits = () => all("[data-hit]").filter((hit) => hit.checkVisibility());
const current = () => document.activeElement?.closest("[data-hit]");

const goTo = (place) => {
  place?.focus({ preventScroll: true });
  place?.scrollIntoView({ block: "nearest" });
};

/* From the header of a file, move to the next or previous hit in document order. */
const step = (by) => {
  const shown = hits();
  const hit = current();
  const group = document.activeElement?.closest(".group");
  if (hit || !group) {
    const at = shown.indexOf(hit);
    goTo(shown[at < 0 ? (by > 0 ? 0 : shown.length - 1) : at + by]);
    return;
  }
  const side = by > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING;
  const there = shown.filter((each) => document.activeElement.compareDocumentPosition(each) & side);
  goTo(by > 0 ? there[0] : there.at(-1));
};

const fold = () => {
  const group = document.activeElement?.closest(".group");
  if (!group) return;
  group.open = !group.open;
  goTo(find(group.open ? "[data-hit]" : "summary", group));
};

Object.assign(keys, {
  j: () => step(1),
  k: () => step(-1),
  o: () => current()?.querySelector("[data-open]").click(),
  x: fold,
  e: () => current()?.querySelector(".around.below")?.click(),
  c: () => { const hit = current(); if (hit) copy(hit.dataset.place, hit.dataset.place); },
  m: async () => {
    const link = find("[data-markdown]");
    if (!link) return;
    const answer = await fetch(link.href).catch(() => null);
    if (answer?.ok) copy(await answer.text(), link.dataset.markdown || "Results");
    else say("Copying failed: the server did not answer");
  },
});
keys.Enter = (event) => { if (event.target.matches("[data-hit]")) keys.o(); };

/* The hit that was opened is selected again when one comes back to its results by Back or by
   the link "Results" of the file. Kept for this tab alone. */
{
  const KEY = "cairn.opened";
  const MOST = 20; /* searches */

  const read = () => {
    try {
      return JSON.parse(sessionStorage.getItem(KEY)) || {};
    } catch {
      return {}; /* storage is disabled */
    }
  };
  const write = (search, opened) => {
    const { [search]: _, ...others } = read();
    const latest = Object.entries(others).slice(1 - MOST);
    try {
      sessionStorage.setItem(KEY, JSON.stringify(Object.fromEntries([...latest, [search, opened]])));
    } catch { /* storage is disabled or full */ }
  };

  const searchOf = (address) => {
    const { pathname, searchParams } = new URL(address, location.href);
    const [q, mode, project] = ["q", "mode", "project"].map((name) => searchParams.get(name) || "");
    return JSON.stringify([pathname, q.trim(), mode || "hybrid", project]);
  };
  /* The search of the page, with "Match case" and a context as filters of its query, as in the links
     to files. */
  const searchHere = () => {
    const query = find("#results")?.dataset.query;
    const address = new URL(location.href);
    if (query) address.searchParams.set("q", query);
    return searchOf(address);
  };
  const openOf = (hit) => hit && find("[data-open]", hit)?.getAttribute("href");

  document.addEventListener("click", ({ target, ctrlKey, metaKey, shiftKey, altKey }) => {
    if (ctrlKey || metaKey || shiftKey || altKey) return; /* opened elsewhere: nobody leaves the page */
    const back = target.closest("a[data-to-results]");
    const search = back && searchOf(back.href);
    const opened = search && read()[search];
    if (opened) {
      back.href = opened.address; /* with all pages of the results */
      write(search, { ...opened, isReturning: true });
    }
    if (!find("#results, #research")) return;
    const link = target.closest("a[href]:not([hx-get])");
    const hit = link?.closest("[data-hit]")
      || (link?.matches(".open-file") && find("[data-hit]", link.closest("li")))
      || (link?.closest("#preview-body") && find(".hit.previewed"));
    const open = openOf(hit);
    if (open) write(searchHere(), { open, address: location.pathname + location.search });
  });

  const selectOpened = () => {
    const search = searchHere();
    const opened = read()[search];
    const { type } = performance.getEntriesByType("navigation")[0] || {};
    if (!opened || !(opened.isReturning || type === "back_forward")) return;
    write(search, { ...opened, isReturning: false });
    if (document.activeElement !== document.body) return;
    const hit = all("[data-hit]").find((each) => openOf(each) === opened.open);
    for (let part = hit?.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    goTo(hit);
  };
  document.addEventListener("DOMContentLoaded", selectOpened);
}
