/* The research page: its text for an agent, within the chosen budget. Uses find and keys of app.js, and
   the key m of results.js, which are loaded first. */
"use strict";

{ /* a block, since the scripts of a page share one scope */
  const budget = find("#max_tokens");
  const link = find("[data-markdown]");

  /* The budget is a part of the address, so that a shared page offers the same text. */
  const follow = () => {
    for (const address of [link.href, location.href]) {
      const url = new URL(address);
      url.searchParams.set("max_tokens", budget.value);
      if (address === link.href) link.href = url;
      else history.replaceState(history.state, "", url);
    }
  };

  if (link) {
    budget.addEventListener("change", follow);
    find("[data-copy-research]").addEventListener("click", () => keys.m());
  }
}
