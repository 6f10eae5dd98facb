/* The search page: the preview, and saved and recent searches. The server renders all HTML. Uses keys,
   find, all and say of app.js, AWAITS_VALUE and typed of as-you-type.js, and kept.js, which are loaded
   first. */
"use strict";

{ /* a block, since the scripts of a page share one scope */
  const box = find("#q");

  /* Preview: the file beside the results, on wide screens. Only the last requested one is shown. */

  const pane = find("#preview-body");
  const isPreviewed = () => pane.checkVisibility();
  let hover = 0;
  let isPreviewOld = false; /* the results have changed since */

  const preview = (hit) => {
    if (!hit?.dataset.preview || !isPreviewed()) return;
    if (pane.dataset.shown === hit.dataset.preview) return;
    all(".hit.previewed").forEach((each) => each.classList.remove("previewed"));
    hit.classList.add("previewed");
    pane.dataset.shown = hit.dataset.preview; /* or asked for */
    htmx.ajax("GET", hit.dataset.preview, { source: pane, target: pane, swap: "innerHTML" });
  };

  const previewFirst = () => {
    const first = current() || find("[data-hit]");
    if (first) preview(first);
  };

  const switchPreview = () => {
    if (!find(".preview-switch").checkVisibility()) return; /* there is no room, or nothing to preview */
    const isShown = document.body.classList.toggle("with-preview");
    find(".preview-switch").setAttribute("aria-pressed", String(isShown));
    const state = isShown ? "open" : "closed";
    document.cookie = `cairn_preview=${state}; path=/search; max-age=31536000; samesite=strict`;
    if (isShown) previewFirst();
  };

  keys.p = switchPreview;
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-preview-switch]")) switchPreview();
  });
  document.addEventListener("focusin", (event) => {
    clearTimeout(hover);
    preview(event.target.closest("[data-hit]"));
  });
  let pointer = "";
  document.addEventListener("mouseover", (event) => {
    const place = `${event.screenX} ${event.screenY}`;
    if (place === pointer) return; /* the page has scrolled below a resting pointer */
    pointer = place;
    clearTimeout(hover);
    const hit = event.target.closest("[data-hit]");
    if (hit) hover = setTimeout(() => preview(hit), 150);
  });

  const showPicked = () => {
    const code = find(".code", pane);
    const line = find(".line.picked", pane);
    if (line) code.scrollTop = line.offsetTop - code.offsetTop - code.clientHeight / 8;
    const head = find(".preview-head a", pane);
    const opens = find(".hit.previewed [data-open]");
    if (head && opens) head.href = opens.getAttribute("href"); /* with the query */
  };

  /* Saved and recent searches. */

  const questionNow = (name) => {
    const form = new FormData(find("#search"));
    const typed = String(form.get("q"));
    const bare = typed.trim();
    const mode = String(form.get("mode"));
    const q = bare && mode === "regex" ? typed : bare; /* spaces count in a pattern */
    const project = String(form.get("project") || "");
    return { name: name || q, q, mode, case: String(form.get("case") || ""), project, of: project && find(".scope-name").textContent };
  };

  const remember = (now) => {
    /* an invalid query leaves the results of the last one on the page */
    if (!now.q || !find("[data-hit]") || find("#problem:not([hidden])")) return;
    if (AWAITS_VALUE.test(now.q) || typed.isUnfinished) return;
    kept.write("recent", [now, ...kept.read("recent").filter((each) => !kept.isSame(each, now))]);
  };

  const fill = () => {
    for (const part of all("[data-kept]")) {
      const kind = part.dataset.kept;
      const pattern = find("[data-kept-row]", part);
      all("li:not([data-kept-row])", part).forEach((row) => row.remove());
      const searches = kept.read(kind);
      part.hidden = searches.length === 0;
      for (const each of searches) {
        const row = pattern.cloneNode(true);
        row.removeAttribute("data-kept-row");
        row.hidden = false;
        find("a", row).href = kept.addressOf(each);
        find("[data-kept-name]", row).textContent = each.name;
        find("[data-kept-mode]", row).textContent = kept.factsOf(each);
        find("a", row).title = each.q;
        const remove = find("[data-kept-delete]", row);
        remove.setAttribute("aria-label", `Delete ${each.name}`);
        remove.addEventListener("click", () => {
          kept.write(kind, kept.read(kind).filter((other) => !(kept.isSame(other, each) && other.name === each.name)));
          fill();
          (find(`[data-kept="${kind}"] [data-kept-delete]:not([hidden] *)`) || box).focus();
        });
        pattern.parentElement.append(row);
      }
    }
  };

  document.addEventListener("recent-cleared", fill);

  const saving = find("#save");
  const nameBox = find("#save-name");
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-save-search]")) {
      const known = kept.read("saved").find((each) => kept.isSame(each, questionNow()));
      nameBox.value = known ? known.name : questionNow().q.slice(0, nameBox.maxLength);
      saving.showModal();
      nameBox.select();
    }
    if (event.target.closest("[data-save-cancel]")) saving.close("");
    if (event.target.closest("[data-kept-clear]")) {
      kept.write("recent", []);
      fill();
      box.focus();
    }
    if (event.target.closest("[data-open], .open-file, #preview-body a")) remember(questionNow());
  });
  saving.addEventListener("close", () => {
    const name = nameBox.value.trim();
    if (saving.returnValue !== "save" || !name) return;
    const now = questionNow(name);
    const others = kept.read("saved").filter((each) => !kept.isSame(each, now) && each.name !== name);
    say(kept.write("saved", [now, ...others]) ? `Saved as ${name}` : "Could not save: browser storage is disabled or full");
    saving.returnValue = "";
  });
  let submitted = null; /* what was searched by Enter, until its results, or those of newer text, are on the page */
  find("#search").addEventListener("submit", () => { submitted = questionNow(); });
  document.addEventListener("htmx:before:response", ({ detail: { ctx } }) => {
    if (ctx.sourceEvent?.type === "submit" && ctx.response.status >= 400) submitted = null;
  });

  /* Of the tabs of a project, the one of what was searched for is current: code or commits. */
  const showTab = () => {
    const current = find("#results").matches(".about-commits") ? "Commits" : "Search";
    for (const tab of all(".tabs li a")) {
      if (tab.textContent === current) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
  };

  /* Answers from the server. */

  document.addEventListener("htmx:after:swap", ({ detail }) => {
    const id = detail.ctx?.target?.id;
    if (id === pane.id) showPicked();
    else if (id === "results") {
      if (submitted) remember(submitted);
      submitted = null;
      showTab();
      fill();
      isPreviewOld = true;
    }
  });
  document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => {
    if (ctx.sourceElement !== pane || ctx.status === "swapped") return;
    if (ctx.request.action === pane.dataset.shown) delete pane.dataset.shown; /* it may be asked for again */
  });
  document.addEventListener("reconnected", () => preview(find(".hit.previewed")));
  document.addEventListener("settled", () => {
    if (isPreviewOld) previewFirst();
    isPreviewOld = false;
  });
  document.addEventListener("DOMContentLoaded", () => { fill(); remember(questionNow()); previewFirst(); });
}
