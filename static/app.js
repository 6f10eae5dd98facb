/* What pages do beyond links and forms: keys, the theme, and what happens meanwhile.
   Every page works without it. The server makes all HTML; nothing here does. */
"use strict";

const root = document.documentElement;
const find = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
root.classList.add("scripted");

/* Theme: the cookie is the one that the server reads, so the next page comes in the right colours. */

const isDark = () => {
  const chosen = root.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-theme-switch]")) return;
  event.preventDefault();
  const theme = isDark() ? "light" : "dark";
  root.dataset.theme = theme;
  document.cookie = `cairn_theme=${theme}; path=/; max-age=31536000; samesite=strict`;
});

/* Keys: single letters, when nobody is typing. Each page adds its own to these. */

const keys = {
  "/": () => { const box = find("[data-focus-key]"); if (box) { box.focus(); if (!box.value.includes(":")) box.select(); } },
  "?": () => find("#keys").showModal(),
};
const afterG = { h: "/", j: "/jobs" };
let isAfterG = false;

const isTyping = (target) =>
  target.closest("input:not([type=checkbox], [type=radio]), textarea, select, dialog[open]") !== null;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const box = event.target;
  if (event.key === "Escape" && box.matches("[data-focus-key]")) {
    if (box.value) {
      box.value = "";
      box.dispatchEvent(new Event("input", { bubbles: true }));
    } else box.blur();
    event.preventDefault();
    return;
  }
  if (isTyping(box)) return;
  if (isAfterG && afterG[event.key]) {
    location.assign(afterG[event.key]);
    return;
  }
  isAfterG = event.key === "g";
  if (isAfterG) setTimeout(() => { isAfterG = false; }, 1000);
  const act = keys[event.key];
  if (!act) return;
  if (event.key !== "Enter") event.preventDefault();
  act(event);
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-open-keys]")) keys["?"]();
});

/* Results: j and k go through them; the others do something with the one in focus. */

const hits = () => all("[data-hit]").filter((hit) => hit.checkVisibility());
const current = () => document.activeElement?.closest("[data-hit]");

const step = (by) => {
  const shown = hits();
  const at = shown.indexOf(current());
  const next = shown[at < 0 ? (by > 0 ? 0 : shown.length - 1) : at + by];
  if (next) {
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }
};

const say = (text) => {
  const told = find("#told");
  told.textContent = text;
  told.hidden = false;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { told.hidden = true; }, 2000);
};

const copy = async (text, what) => {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} is copied`);
  } catch {
    say("the browser does not let it be copied");
  }
};

Object.assign(keys, {
  j: () => step(1),
  k: () => step(-1),
  o: () => current()?.querySelector("[data-open]").click(),
  x: () => {
    const group = current()?.closest(".group");
    if (!group) return;
    group.open = false;
    const next = hits().find((hit) => group.compareDocumentPosition(hit) & 4);
    (next || find("summary", group)).focus();
  },
  c: () => { const hit = current(); if (hit) copy(hit.dataset.place, hit.dataset.place); },
  m: async () => {
    const link = find("[data-markdown]");
    if (link) copy(await (await fetch(link.href)).text(), "The answer");
  },
});
keys.Enter = (event) => { if (event.target.matches("[data-hit]")) keys.o(); };

/* Lines of a file: #L10-L20 picks some, as a click on a number does, and a second one with shift. */

const pickedIn = (hash) => {
  const found = /^#L(\d+)(?:-L(\d+))?$/.exec(hash);
  if (!found) return null;
  const ends = [Number(found[1]), Number(found[2] || found[1])];
  return [Math.min(...ends), Math.max(...ends)];
};

const pick = () => {
  const ends = pickedIn(location.hash);
  if (!ends || !find(".file-code")) return;
  const isGiven = new URLSearchParams(location.search).has("lines") && ends[0] === ends[1];
  if (!isGiven || pick.wasClicked) {
    all(".line.picked").forEach((line) => line.classList.remove("picked"));
    for (let number = ends[0]; number <= ends[1]; number += 1) {
      document.getElementById(`L${number}`)?.classList.add("picked");
    }
  }
  if (!pick.wasClicked) document.getElementById(`L${ends[0]}`)?.scrollIntoView({ block: "center" });
};

document.addEventListener("click", (event) => {
  const number = event.target.closest(".file-code .n")?.dataset.n;
  if (!number) return;
  event.preventDefault();
  const before = pickedIn(location.hash);
  const hash = event.shiftKey && before ? `#L${before[0]}-L${number}` : `#L${number}`;
  history.replaceState(null, "", hash);
  pick.wasClicked = true;
  pick();
  pick.wasClicked = false;
});
addEventListener("hashchange", pick);
document.addEventListener("DOMContentLoaded", pick);

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy-place]");
  if (!button) return;
  const lines = all(".line.picked .n").map((line) => line.dataset.n);
  const place = `${button.dataset.copyPlace}:${lines[0] || 1}`;
  copy(lines.length > 1 ? `${place}-${lines.at(-1)}` : place, "The place");
});

/* A bad query is answered with what is wrong, and says itself where that goes; what else fails
   changes nothing on the page. */

document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.getResponseHeader("HX-Retarget")) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});
document.addEventListener("htmx:sendError", () => { find("#gone").hidden = false; });
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful) find("#gone").hidden = true;
});

/* A choice of a list is a question already. */

document.addEventListener("change", (event) => {
  if (event.target.matches(".job-filters select")) event.target.form.submit();
});

/* What happens meanwhile. A browser has six connections to a server for all its tabs, so one tab
   listens and tells the others; when it goes, the next one takes its place. A part of a page that
   is concerned is asked for again, twice a second at most. */

const asked = new Map();

const refresh = (part) => {
  const last = asked.get(part.id) || { at: 0, timer: 0 };
  if (last.timer) return;
  const wait = Math.max(0, last.at + 500 - Date.now());
  last.timer = setTimeout(() => {
    asked.set(part.id, { at: Date.now(), timer: 0 });
    const now = document.getElementById(part.id);
    if (now) htmx.trigger(now, "live");
  }, wait);
  asked.set(part.id, last);
};

/* What is told: that the server is gone or back, and of which job; of none, all may have changed. */
const hear = ({ isGone, jobId }) => {
  find("#gone").hidden = !isGone;
  if (isGone) return;
  for (const part of all("[data-live]")) {
    const wanted = part.dataset.liveJob;
    if (!wanted || !jobId || wanted === jobId) refresh(part);
  }
};

const listen = (tell) => {
  const stream = new EventSource("/api/v1/events");
  for (const type of ["state", "job", "watch", "project"]) {
    stream.addEventListener(type, (event) => {
      tell({ isGone: false, jobId: JSON.parse(event.data).job_id });
    });
  }
  stream.addEventListener("error", () => {
    tell({ isGone: true });
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => listen(tell), 3000);
  });
  addEventListener("pagehide", () => stream.close());
};

const follow = () => {
  if (!find("[data-live]")) return;
  if (!navigator.locks || !window.BroadcastChannel) {
    listen(hear);
    return;
  }
  const channel = new BroadcastChannel("cairn-events");
  channel.addEventListener("message", (event) => hear(event.data));
  const tell = (told) => { hear(told); channel.postMessage(told); };
  hear({ isGone: false }); /* what was told between the making of this page and now */
  navigator.locks.request("cairn-events", () => new Promise((release) => {
    listen(tell);
    addEventListener("pagehide", release);
  }));
};

document.addEventListener("DOMContentLoaded", follow);
addEventListener("pageshow", (event) => { if (event.persisted) follow(); });
