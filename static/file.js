/* The page of a file. Uses keys, find, all, copy and say of app.js, which is loaded first. */
"use strict";

{ /* a block, since the scripts of a page share one scope */
  /* Selected lines: #L10-L20, by a click on a line number or by keys; with Shift a range, from the first
     line that the address names. */

  const withColons = (address) => {
    address.search = address.search.replaceAll("%3A", ":"); /* as places of names are written */
    return address;
  };

  const pickedIn = (hash) => {
    const found = /^#L(\d+)(?:-L(\d+))?$/.exec(hash);
    if (!found) return null;
    const ends = [Number(found[1]), Number(found[2] || found[1])];
    return [Math.min(...ends), Math.max(...ends)];
  };

  const anchorOf = (hash) => pickedIn(hash) && Number(/\d+/.exec(hash)[0]);

  const followEditor = (line) => {
    const link = find("[data-editor]"); /* all addresses of editors end with the line number */
    if (link) link.href = link.getAttribute("href").replace(/\d+$/, String(line));
  };

  const followLines = (ends) => {
    const link = find("[data-line-history]");
    if (!link) return;
    link.hidden = false;
    link.href = link.getAttribute("href").replace(/%3A\d+-\d+(?=(?:%22)?(?:&|$))/, `%3A${ends[0]}-${ends[1]}`);
  };

  /* The lines of an address are selected until others are chosen: with another fragment they are left out. */
  const given = location.hash;
  const linesGiven = () => {
    const found = /^(\d+)(?:-(\d+))?$/.exec(new URLSearchParams(location.search).get("lines") || "");
    if (!found || location.hash !== given || /-L\d/.test(given)) return null;
    const last = all(".line").length;
    return pickedIn(`#L${found[1]}-L${found[2] || found[1]}`).map((line) => Math.min(line, last));
  };
  const dropLines = () => {
    const address = new URL(location.href);
    if (!address.searchParams.has("lines")) return;
    address.searchParams.delete("lines");
    history.replaceState(history.state, "", withColons(address));
  };

  const pick = () => {
    const at = pickedIn(location.hash)?.[0];
    const ends = linesGiven() || pickedIn(location.hash);
    if (!ends || !find(".file-code")) return;
    const last = Math.min(ends[1], all(".line").length);
    all(".line.picked").forEach((line) => line.classList.remove("picked"));
    for (let number = ends[0]; number <= last; number += 1) {
      document.getElementById(`L${number}`)?.classList.add("picked");
    }
    followEditor(at || ends[0]);
    followLines(ends);
    const bar = find("[data-stops]");
    const stop = bar ? bar.dataset.stops.split(" ").indexOf(String(at)) : -1;
    if (stop >= 0) {
      bar.dataset.at = stop + 1;
      find("#match-at").textContent = stop + 1;
    }
    if (!pick.wasClicked) document.getElementById(`L${at || ends[0]}`)?.scrollIntoView({ block: "center" });
  };

  /* A preview has anchors for its headings only; any other line is shown in the source. */
  const leavePreview = () => {
    const preview = find("[data-source]");
    if (!preview || !pickedIn(location.hash) || find(`[id="${location.hash.slice(1)}"]`, preview)) return;
    location.replace(`${preview.dataset.source}${location.hash}`);
  };
  addEventListener("hashchange", leavePreview);
  document.addEventListener("DOMContentLoaded", leavePreview);

  const repaint = () => {
    pick.wasClicked = true;
    pick();
    pick.wasClicked = false;
  };

  const show = (hash, scrolls) => {
    dropLines();
    history.replaceState(null, "", hash);
    repaint();
    if (scrolls) document.getElementById(hash.slice(1))?.scrollIntoView({ block: "center" });
    leavePreview();
  };

  const choose = (number, isRange) => {
    const anchor = isRange && anchorOf(location.hash);
    show(anchor ? `#L${anchor}-L${number}` : `#L${number}`);
  };

  document.addEventListener("click", (event) => {
    const number = event.target.closest(".file-code .n")?.dataset.n;
    if (!number) return;
    event.preventDefault();
    choose(number, event.shiftKey);
  });

  /* The line of the focus, else a selected one in sight, else the first in sight. */
  const lineHere = () => {
    const top = Math.max(find(".file-bar").getBoundingClientRect().bottom, 0);
    const isBelow = (each) => each.getBoundingClientRect().bottom > top;
    const isInSight = (line) => isBelow(line) && line.getBoundingClientRect().top < innerHeight;
    const block = all(".file-code > .block").find(isBelow);
    return document.activeElement.closest(".file-code .line")
      || all(".line.picked").find(isInSight)
      || (block && all(".line", block).find(isBelow));
  };
  const chooseByKey = (line, isRange) => {
    if (!line) return;
    choose(line.id.slice(1), isRange);
    find(".n", line).focus({ preventScroll: true });
    line.scrollIntoView({ block: "nearest" });
  };
  keys.l = () => chooseByKey(lineHere(), false);
  keys.L = () => chooseByKey(lineHere(), true);
  document.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const number = event.target.closest(".file-code .n")?.dataset.n;
    if (!by || !number || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    chooseByKey(document.getElementById(`L${Number(number) + by}`), event.shiftKey);
  });

  addEventListener("hashchange", () => {
    if (pickedIn(location.hash) && !linesGiven()) dropLines();
    pick();
  });
  addEventListener("popstate", () => { /* back to another query changes no fragment for browsers */
    if (!new URLSearchParams(location.search).has("name")) repaint();
  });
  document.addEventListener("DOMContentLoaded", pick);

  document.addEventListener("click", (event) => {
    const path = event.target.closest("[data-copy-path]")?.dataset.copyPath;
    if (path) copy(path, "Path");
    const button = event.target.closest("[data-copy-place]");
    if (!button) return;
    const lines = all(".line.picked .n").map((line) => line.dataset.n);
    const place = `${button.dataset.copyPlace}:${lines[0] || 1}`;
    copy(lines.length > 1 ? `${place}-${lines.at(-1)}` : place, "Location");
  });

  /* Passages that match the query that led here: n and p step through them in a circle. */

  const goRound = (by) => {
    const bar = find("[data-stops]");
    const stops = bar?.dataset.stops.split(" ").filter(Boolean);
    if (!stops?.length) return 0;
    const at = (Number(bar.dataset.at) - 1 + by + stops.length) % stops.length;
    show(`#L${stops[at]}`, true);
    return stops[at];
  };
  const goRoundByKey = (by) => find(`#L${goRound(by)} .n`)?.focus({ preventScroll: true });
  keys.n = () => goRoundByKey(1);
  keys.p = () => goRoundByKey(-1);

  document.addEventListener("click", (event) => {
    const button = event.target.closest("#match-before, #match-after");
    if (!button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    goRound(button.id === "match-after" ? 1 : -1);
  });

  /* Who changed the lines: they stay selected, and the page stays while the history is read. */

  const arrived = find("#blame-arrived");
  const showBlame = (link) => {
    const columns = all(".blame", arrived);
    const blocks = all(".file-code > .block");
    if (!columns.length) return "The history could not be read: try again.";
    const { version } = find("[data-version]", arrived).dataset;
    if (version !== find(".file-code").dataset.version) return "The file has changed: load the page again.";
    blocks.forEach((block, at) => {
      const lines = document.createElement("div");
      lines.className = "lines";
      lines.append(...block.childNodes);
      block.append(columns[at], lines);
      block.classList.add("blamed");
    });
    find(".file-facts").append(...all("p > span", arrived));
    const address = new URL(location.href); /* with what was chosen meanwhile */
    address.searchParams.delete("view");
    address.searchParams.set("blame", "1");
    history.replaceState(history.state, "", withColons(address));
    link.href = find("[data-blame-hidden]", arrived).dataset.blameHidden;
    link.setAttribute("aria-current", "true");
    return "";
  };
  document.addEventListener("htmx:finally:request", ({ detail }) => {
    if (!arrived || detail.ctx?.target !== arrived) return;
    const link = find("[data-blame]");
    link.removeAttribute("aria-busy");
    find("#blame-state").textContent = showBlame(link);
    arrived.replaceChildren();
  });

  const readBlame = (link) => {
    if (link.hasAttribute("aria-busy")) return;
    link.setAttribute("aria-busy", "true");
    find("#blame-state").textContent = "reading the history…";
    const address = new URL(link.href);
    htmx.ajax("GET", address.pathname + address.search, { source: arrived, target: arrived, swap: "innerHTML" });
  };
  document.addEventListener("DOMContentLoaded", () => {
    const link = find('[data-blame="due"]');
    if (link) readBlame(link);
  });

  keys.b = () => find("[data-blame]")?.click();
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-blame]");
    if (!link) return;
    const picked = all(".line.picked .n").map((line) => line.dataset.n);
    const address = new URL(link.href);
    if (picked.length) {
      address.searchParams.delete("lines");
      address.hash = picked.length > 1 ? `L${picked[0]}-L${picked.at(-1)}` : `L${picked[0]}`;
      link.href = address;
    }
    const isOfLines = !link.hasAttribute("aria-current") && find(".file-code > .block");
    if (!isOfLines || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    readBlame(link);
  });

  /* The permalink has the content hash, so that a later visit can tell whether the content changed.
     It becomes the address of the page too. */

  const makePermanent = (link) => {
    const address = new URL(location.href);
    address.searchParams.set("at", link.dataset.permanent);
    history.replaceState(null, "", address);
    find("#other-version")?.remove();
    copy(address.href, "Permalink", "The address bar has the permalink now");
  };
  keys.y = () => { const link = find("[data-permanent]"); if (link) makePermanent(link); };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-permanent]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    makePermanent(link);
  });

  /* Symbols: s focuses the one that contains the selected line, arrow keys move from there. */

  keys.s = () => {
    const links = all('.outline a[href^="#"]');
    const line = pickedIn(location.hash)?.[0] || 1;
    const above = links.filter((link) => pickedIn(link.getAttribute("href"))[0] <= line);
    const shows = find("#show-outline");
    if (shows && getComputedStyle(shows.nextElementSibling).display !== "none") shows.checked = true;
    (above.at(-1) || links[0])?.focus();
  };
  document.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const link = event.target.closest(".outline a, .file-tree a, .file-tree summary");
    if (!by || !link || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const links = all("a:not(.outline-kind), summary", link.closest(".panel")).filter((each) => each.checkVisibility());
    const from = link.matches(".outline-kind") ? link.previousElementSibling : link;
    links[links.indexOf(from) + by]?.focus();
    event.preventDefault();
  });

  /* The outline follows the scroll: the symbol at the top of the window is the current one. */

  const topLine = () => {
    const article = find(".file-code");
    const box = article.getBoundingClientRect();
    const top = Math.max(find(".file-bar")?.getBoundingClientRect().bottom || 0, 0) + 8;
    if (article.matches(".rendered")) {
      const above = all("[id^=L]", article).filter((each) => each.getBoundingClientRect().top <= top + 24);
      return Number(above.at(-1)?.id.slice(1)) || 1;
    }
    const line = document.elementFromPoint(box.left + (find(".blame") ? box.width / 2 : 8), Math.max(top, box.top + 4))?.closest(".line");
    return line ? Number(line.id.slice(1)) : 0;
  };

  const followOutline = () => {
    const links = all('.outline a[href^="#"]');
    const line = topLine();
    if (!links.length || !line) return;
    const above = links.filter((link) => pickedIn(link.getAttribute("href"))[0] <= line);
    const current = above.at(-1) || null;
    const before = find(".outline [aria-current]");
    if (before === current) return;
    before?.removeAttribute("aria-current");
    if (!current) return;
    current.setAttribute("aria-current", "location");
    const panel = current.closest(".panel");
    const { offsetTop, offsetHeight } = current;
    const at = offsetTop - panel.offsetTop;
    if (at < panel.scrollTop + 40 || at + offsetHeight > panel.scrollTop + panel.clientHeight) {
      panel.scrollTop = at - panel.clientHeight / 3;
    }
  };

  let isFollowing = false;
  const followSoon = () => {
    if (isFollowing) return;
    isFollowing = true;
    requestAnimationFrame(() => { isFollowing = false; followOutline(); });
  };
  addEventListener("scroll", followSoon, { passive: true });
  document.addEventListener("DOMContentLoaded", followSoon);

  /* What stays in sight stays below the bar, however many rows it has. */

  const bar = find(".file-bar");
  if (bar) new ResizeObserver(() => {
    const style = getComputedStyle(bar);
    const below = style.position === "sticky" ? `${parseFloat(style.top) + bar.offsetHeight + 8}px` : "";
    document.body.style.setProperty("--below", below);
  }).observe(bar);

  /* Scroll the tree to the current file. */

  document.addEventListener("DOMContentLoaded", () => {
    const panel = find(".file-tree .panel");
    const here = panel && find("[aria-current]", panel);
    if (here && here.offsetTop + here.offsetHeight > panel.offsetTop + panel.clientHeight) panel.scrollTop = here.offsetTop - panel.offsetTop - panel.clientHeight / 2;
  });
}
