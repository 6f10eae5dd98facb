/* Shared by all pages: keys, the theme, and live updates. Every page works without scripts, and all
   HTML comes from the server. */
"use strict";

const root = document.documentElement;
const find = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
root.classList.add("scripted");

/* In a narrow window the tabs of a project scroll: the current one is shown. */
{
  const tabs = find(".tabs"), current = tabs && find("[aria-current]", tabs);
  if (current) tabs.scrollLeft = current.offsetLeft + current.offsetWidth - tabs.clientWidth + 16;
}

/* Theme: the server reads the cookie, so the next page starts with the right colours. */

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

/* Keys: single letters, except while typing. Pages add their own. Who speaks to the computer, or often hits
   a wrong key, can turn them off. */

let areLettersOn = true;
try {
  areLettersOn = localStorage.getItem("cairn.letters") !== "off";
} catch { /* storage is disabled */ }

/* What shows such a key: the class "letter", and titles with the key of data-key at their end. */
const showLetters = () => {
  root.classList.toggle("no-letters", !areLettersOn);
  for (const each of all("[data-key]")) {
    const title = each.title.replace(/ \(.\)$/, "");
    each.title = areLettersOn ? `${title} (${each.dataset.key})` : title;
  }
};
showLetters();
document.addEventListener("htmx:after:swap", showLetters);

const keys = {
  "/": () => { const box = find("main [data-focus-key]") || find("[data-focus-key]"); box?.focus(); box?.select(); },
  "?": () => {
    find("[data-letters]").checked = areLettersOn;
    find("#keys").showModal();
  },
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
  if (isTyping(box) || (!areLettersOn && event.key.length === 1)) return;
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
document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-letters]")) return;
  areLettersOn = event.target.checked;
  showLetters();
  try {
    localStorage.setItem("cairn.letters", areLettersOn ? "on" : "off");
  } catch { /* storage is disabled: they change on this page */ }
});

/* A notification, shown for two seconds unless it is longer. */

const say = (text, shownMs = 2000) => {
  const toast = find("#told");
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { toast.hidden = true; }, shownMs);
};

const copy = async (text, what, instead = "") => {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
  } catch {
    const reason = navigator.clipboard
      ? "Copying failed: the browser denied access to the clipboard"
      : "Copying needs HTTPS, or the address localhost";
    say(instead ? `${reason}. ${instead}` : reason, instead ? 6000 : 2000);
  }
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(find("pre", button.closest("figure")).textContent, "Text");
});

/* Errors: the answer to a bad query names its own target; any other failed request changes nothing
   on the page. If the address of a live part changed while its request was under way, the late answer
   is dropped and requested again. */

const isLate = ({ sourceElement, request }) => {
  if (!sourceElement.matches("[data-live][hx-get]")) return false;
  const queryOf = (address) => new URL(address, location.href).searchParams.toString();
  return queryOf(request.action) !== queryOf(sourceElement.getAttribute("hx-get"));
};

document.addEventListener("htmx:before:response", (event) => {
  const { sourceElement, response: { status, headers } } = event.detail.ctx;
  showGone(false);
  if (status >= 400 && !headers.has("HX-Retarget")) event.preventDefault();
  else if (isLate(event.detail.ctx)) {
    event.preventDefault();
    refresh(sourceElement);
  }
});
/* Again when its text has been read, as the address may have changed since its headers came. */
document.addEventListener("htmx:before:swap", (event) => {
  if (!isLate(event.detail.ctx)) return;
  event.preventDefault();
  refresh(event.detail.ctx.sourceElement);
});
/* The focus stays in what a check or repair shows, whose buttons come and go. */
let isTreated = false;
document.addEventListener("htmx:before:swap", () => { isTreated = document.activeElement.closest("#treatment") !== null; });
document.addEventListener("htmx:after:swap", () => {
  if (isTreated && document.activeElement === document.body) find("#treatment")?.focus({ preventScroll: true });
});
/* A focus on the link to more of a list goes to the first entry of what came. */
let moreAfter = null;
document.addEventListener("htmx:before:swap", ({ detail: { ctx } }) => {
  const row = ctx.sourceElement.closest(".next-page, .to-come");
  moreAfter = row?.contains(document.activeElement) ? row.previousElementSibling : null;
});
document.addEventListener("htmx:after:swap", () => {
  const list = moreAfter?.nextElementSibling;
  if (list) find("[data-hit], a[href]", list)?.focus();
  moreAfter = null;
});
/* A focus on the link to more or fewer lines of an excerpt, which may be gone, goes to the first of the links
   that are left, or to the hit. */
let excerptIn = null;
document.addEventListener("htmx:before:swap", () => {
  excerptIn = document.activeElement.closest(".around")?.closest(".excerpt").parentElement;
});
document.addEventListener("htmx:after:swap", () => {
  if (!excerptIn || document.activeElement !== document.body) return;
  (find(".around, .outdated a", excerptIn) || excerptIn.closest("[data-hit]"))?.focus();
});
document.addEventListener("htmx:error", ({ detail }) => {
  if (detail.ctx && !detail.ctx.response) onEvent({ isGone: true });
});

/* Back and forward to another query of a page load it again, as "history" of its settings says. On the
   page of a file the panel of names follows by itself, and htmx must not come between. */
const isOfNames = () => find("#names") !== null;
/* htmx marks an entry only when it first changes its page, which may be after one has left it. */
if (!isOfNames() && !history.state?.htmx) history.replaceState({ ...history.state, htmx: true }, "");
window.navigation?.addEventListener("navigate", (event) => {
  if (event.navigationType === "traverse" && isOfNames()) event.stopImmediatePropagation();
});
/* Browsers without the Navigation API tell htmx of a mere fragment too; hashchange follows popstate at once. */
let isFragment = false;
addEventListener("popstate", () => { isFragment = false; });
addEventListener("hashchange", ({ oldURL, newURL }) => { isFragment = oldURL.split("#")[0] === newURL.split("#")[0]; });
document.addEventListener("htmx:before:history:restore", (event) => {
  if (isOfNames() || isFragment) event.preventDefault();
});

/* While the server does not respond it is polled; live parts are refreshed when it is back. */

let isPolling = false;

const pollServer = () => {
  if (isPolling) return;
  isPolling = true;
  setTimeout(async () => {
    const answer = await fetch("/health").catch(() => null);
    isPolling = false;
    onEvent({ isGone: answer === null });
  }, 2000);
};

/* Relative times go on: the server writes "5 min ago" for the moment of the answer. */

/* Unit, its length, and from which age on it is used; as wording.age of the server. */
const AGES = [["y", 31557600, 63115200], ["mo", 2629800, 5259600], ["d", 86400, 86400], ["h", 3600, 3600], ["min", 60, 60], ["s", 1, 1]];

const sinceOf = (moment) => {
  const seconds = (Date.now() - Date.parse(moment)) / 1000;
  if (seconds < 10) return "just now";
  const [unit, length] = AGES.find(([, , from]) => seconds >= from);
  return `${Math.floor(seconds / length)} ${unit} ago`;
};

setInterval(() => {
  for (const each of all("time[data-since]")) each.textContent = sinceOf(each.dateTime);
}, 10000);

/* Choosing a filter of jobs submits its form. Who comes back sees those of the list again. */

document.addEventListener("change", (event) => {
  if (!event.target.matches(".job-filters select")) return;
  if (event.target.name === "days") all("input[type=date]", event.target.form).forEach((day) => { day.value = ""; });
  event.target.form.submit();
});
addEventListener("pageshow", () => find(".job-filters")?.reset());

/* Live updates. A browser has six connections to a server for all its tabs, so one tab listens to the
   event stream and broadcasts to the others; when it closes, the next one takes over. Affected parts of
   a page are refreshed, at most twice a second. */

const refreshes = new Map();

const refresh = (part) => {
  const last = refreshes.get(part.id) || { at: 0, timer: 0 };
  if (last.timer) return;
  const wait = Math.max(0, last.at + 500 - Date.now());
  last.timer = setTimeout(() => {
    refreshes.set(part.id, { at: Date.now(), timer: 0 });
    const now = document.getElementById(part.id);
    if (now) htmx.trigger(now, "live");
  }, wait);
  refreshes.set(part.id, last);
};

const showGone = (isGone) => {
  const banner = find("#gone");
  const isBack = !isGone && !banner.hidden;
  banner.hidden = !isGone;
  if (isBack) document.dispatchEvent(new Event("reconnected"));
};

/* An event: the server is gone or back, or a job changed; without a job, anything may have changed. */
const onEvent = ({ isGone, jobId }) => {
  showGone(isGone);
  if (isGone) {
    pollServer();
    return;
  }
  for (const part of all("[data-live]")) {
    const wanted = part.dataset.liveJob;
    if (!wanted || !jobId || wanted === jobId) refresh(part);
  }
};

let stopListening = () => {};

const listen = (send) => {
  const stream = new EventSource("/api/v1/events");
  let retry = 0;
  stopListening = () => {
    stream.close();
    clearTimeout(retry);
  };
  for (const type of ["state", "job", "watch", "project"]) {
    stream.addEventListener(type, (event) => {
      send({ isGone: false, jobId: JSON.parse(event.data).job_id });
    });
  }
  stream.addEventListener("error", () => {
    send({ isGone: true });
    if (stream.readyState === EventSource.CLOSED) retry = setTimeout(() => listen(send), 3000);
  });
};
addEventListener("pagehide", () => stopListening());

/* Without locks, as on another machine over HTTP: hidden tabs would hold all connections. */
const listenWhileShown = () => {
  stopListening();
  if (document.hidden) return;
  onEvent({ isGone: false }); /* events since this page was rendered, or hidden */
  listen(onEvent);
};

const follow = () => {
  if (!find("[data-live]")) return;
  if (!navigator.locks || !window.BroadcastChannel) {
    document.addEventListener("visibilitychange", listenWhileShown);
    listenWhileShown();
    return;
  }
  const channel = new BroadcastChannel("cairn-events");
  addEventListener("pagehide", () => channel.close(), { once: true });
  channel.addEventListener("message", (event) => onEvent(event.data));
  const send = (message) => { onEvent(message); channel.postMessage(message); };
  onEvent({ isGone: false }); /* events since this page was rendered */
  navigator.locks.request("cairn-events", () => new Promise((release) => {
    listen(send);
    addEventListener("pagehide", release, { once: true });
  }));
};

document.addEventListener("DOMContentLoaded", follow);
addEventListener("pageshow", (event) => { if (event.persisted) follow(); });
