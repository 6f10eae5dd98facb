/* Saved and recent searches. They are stored in this browser only: they are private to their user, and
   a page that only reads needs no write access. */
"use strict";

const kept = {};

{ /* a block, since the scripts of a page share one scope */
  const MOST = { recent: 12, saved: 50 };
  const LONGEST = 4096;

  const isValid = (each) =>
    typeof each?.q === "string" && each.q.length > 0 && each.q.length <= LONGEST
    && typeof each.mode === "string" && typeof each.name === "string";

  /* The searches of a kind: recent or saved. */
  kept.read = (kind) => {
    try {
      const found = JSON.parse(localStorage.getItem(`cairn.${kind}`));
      return Array.isArray(found) ? found.filter(isValid).slice(0, MOST[kind]) : [];
    } catch {
      return [];
    }
  };

  kept.write = (kind, searches) => {
    try {
      localStorage.setItem(`cairn.${kind}`, JSON.stringify(searches.slice(0, MOST[kind])));
      return true;
    } catch {
      return false; /* storage is disabled or full */
    }
  };

  kept.isSame = (one, other) =>
    one.q === other.q && one.mode === other.mode && (one.case || "") === (other.case || "")
    && (one.project || "") === (other.project || "");

  kept.addressOf = (each) => {
    const parts = { q: each.q, mode: each.mode, ...(each.case ? { case: each.case } : {}), ...(each.project ? { project: each.project } : {}) };
    return `/search?${new URLSearchParams(parts)}`;
  };

  /* What differs from a plain search of all projects. */
  kept.factsOf = (each) =>
    [each.mode === "hybrid" ? "" : each.mode, each.case ? "match case" : "", each.of ? `in ${each.of}` : ""].filter(Boolean).join(", ");
}
