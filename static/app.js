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

/* A word at the edge of the window, for two seconds. */

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

/* A bad query is answered with what is wrong, and says itself where that goes; what else fails
   changes nothing on the page. What a live part asked before it was about something else comes too
   late, and is asked again. */

const isLate = ({ sourceElement, request }) => {
  if (!sourceElement.matches("[data-live][hx-get]")) return false;
  const asks = (address) => new URL(address, location.href).searchParams.toString();
  return asks(request.action) !== asks(sourceElement.getAttribute("hx-get"));
};

document.addEventListener("htmx:before:response", (event) => {
  const { sourceElement, response: { status, headers } } = event.detail.ctx;
  find("#gone").hidden = true;
  if (status >= 400 && !headers.has("HX-Retarget")) event.preventDefault();
  if (isLate(event.detail.ctx)) {
    event.preventDefault();
    refresh(sourceElement);
  }
});
document.addEventListener("htmx:error", ({ detail }) => {
  if (detail.ctx && !detail.ctx.response) hear({ isGone: true });
});

/* While the server is gone it is asked for, and what is live on the page is asked for again when
   it is back. */

let isAsking = false;

const askForServer = () => {
  if (isAsking) return;
  isAsking = true;
  setTimeout(async () => {
    const answer = await fetch("/health").catch(() => null);
    isAsking = false;
    hear({ isGone: answer === null });
  }, 2000);
};

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
  if (isGone) {
    askForServer();
    return;
  }
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
