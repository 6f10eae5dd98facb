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
