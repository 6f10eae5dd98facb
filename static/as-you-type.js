/* Results follow the keys on the search page. Uses find of app.js, which is loaded first.

   A search starts at once, unless one is under way: then the newest text waits until that one has answered,
   or for a second, after which it replaces that one. So a page has at most one under way, no answer replaces
   a newer one, and the last text is always searched.
   What half-typed words should not cause waits for a pause: the address of the page, what screen readers
   announce, errors of the query, and the preview. Who reloads within that pause gets the query of the
   address, the one before: when browsers tell of a reload, its address is fixed. */
"use strict";

/* Of names that are looked for in the texts of files, one letter is not enough. */
const AWAITS_VALUE =
  /(^|\s)-?((lang|path|kind|sym|is|branch|project|repo|context|tag|author|case):"?|(calls|uses|extends|imports):"?\w?)$/;

const typed = { isUnfinished: false }; /* whether the last filter is a prefix of an existing value */

{ /* a block, since the scripts of a page share one scope */
  const PAUSE_MS = 300;
  const PATIENCE_MS = 1000; /* with a search under way while there is newer text */
  const box = find("#q");
  const form = box.form;
  let searched = box.defaultValue;
  let underWay = null; /* the request that is not answered yet */
  let last = null; /* the last request, until its answer is on the page */
  let patience = 0; /* the timer of the request */
  let shown = null; /* the last request whose answer has replaced the results */
  let isSettled = true; /* whether no answer came since the last pause */
  let pause = 0; /* the timer of who types; 0: nobody does */
  let address = ""; /* of the results, if the page does not have it yet */
  let hasProblem = !find("#problem").hidden;
  let isLost = false; /* whether the last search got no answer, as the server was away */

  const search = () => {
    if (underWay || box.value === searched) return;
    if (AWAITS_VALUE.test(box.value)) { /* its values are being suggested */
      find("#problem").hidden = true; /* it belongs to the text before */
      hasProblem = false;
      return;
    }
    form.dispatchEvent(new Event("typed"));
  };

  const showAddress = () => {
    if (address) history.replaceState({ htmx: true }, "", address);
    address = "";
  };

  const settle = () => {
    if (pause || last || isSettled) return;
    isSettled = true;
    showAddress();
    find("#problem").hidden = !hasProblem;
    const summary = find("#summary").textContent.trim();
    if (find("#announced").textContent !== summary) find("#announced").textContent = summary;
    document.dispatchEvent(new Event("settled"));
  };

  const endPause = () => {
    clearTimeout(pause);
    pause = 0;
  };

  box.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(() => { endPause(); settle(); }, PAUSE_MS);
    search();
  });
  box.addEventListener("blur", () => { /* one may leave the page */
    endPause();
    showAddress();
    settle();
  });

  document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
    if (ctx.sourceElement !== form) return;
    if (ctx.sourceEvent.type !== "typed") endPause();
    underWay = last = ctx;
    searched = box.value;
    isLost = false;
    clearTimeout(patience);
    patience = setTimeout(() => end(ctx), PATIENCE_MS);
  });
  document.addEventListener("htmx:before:response", (event) => {
    const { sourceElement, sourceEvent, response } = event.detail.ctx;
    if (sourceElement !== form) return;
    const isRefused = response.status >= 400 && !response.headers.has("HX-Retarget");
    const isTooLong = [414, 431].includes(response.status); /* the address, or all of the head */
    find("#too-long").hidden = !(isRefused && isTooLong);
    find("#search-failed").hidden = !isRefused || isTooLong;
    typed.isUnfinished = sourceEvent.type === "typed" && response.headers.has("X-Unfinished")
      && box.selectionEnd === box.value.length && /\S$/.test(box.value);
    if (!typed.isUnfinished) return;
    find("#problem").hidden = true;
    hasProblem = false;
    event.preventDefault();
  });
  document.addEventListener("htmx:before:history:update", (event) => {
    if (event.detail.sourceElement !== form) return;
    address = event.detail.history.path;
    event.preventDefault();
  });
  document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
    if (ctx?.sourceElement !== form) return;
    const problem = find("#problem");
    hasProblem = !problem.hidden;
    isSettled = false;
    if (ctx.target.id === "results") shown = ctx;
    if (pause) problem.hidden = true;
  });
  const end = (ctx) => {
    if (ctx !== underWay) return; /* another has replaced it */
    underWay = null;
    search();
  };
  /* The next search runs while this answer is put on the page. */
  document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
    if (ctx !== last) return;
    ctx.target = find("#results"); /* not the one that the answer before has replaced */
    end(ctx);
  });
  document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => {
    if (ctx !== last) return;
    last = null;
    end(ctx); /* it may have failed */
    settle();
    /* The search has aborted the request for the rest of the results that are still shown. */
    if (ctx !== shown) find(".to-come")?.dispatchEvent(new Event("awaited"));
  });
  document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
    if (ctx && ctx === last && !ctx.response) isLost = true;
  });
  document.addEventListener("reconnected", () => {
    if (!isLost) return;
    searched = null;
    search();
  });
  document.addEventListener("DOMContentLoaded", () => setTimeout(search)); /* what was typed before */
}
