/* Find a file: t opens the dialog, up and down choose, Enter opens, or looks in all projects where
   this one has nothing; keys, find and all are of app.js, which comes first. The server ranks and
   makes the list. */
"use strict";

{ /* of this file alone: scripts of a page share their names */
  const options = () => all("#found-list [role=option]");
  const chosen = () => find("#found-list [aria-selected=true]");

  const choose = (at) => {
    const box = find("#finder-box");
    const shown = options();
    const option = shown[(at + shown.length) % shown.length];
    shown.forEach((each) => each.setAttribute("aria-selected", String(each === option)));
    box.setAttribute("aria-expanded", String(shown.length > 0));
    if (option) {
      box.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    } else box.removeAttribute("aria-activedescendant");
  };

  /* A key may come before htmx has seen the form. */
  const askFirst = (form) => {
    if ("htmxPowered" in form.dataset) htmx.trigger(form, "opened");
    else setTimeout(askFirst, 20, form);
  };

  const lookIn = (project) => {
    const box = find("#finder-box");
    const chosenProject = find("#finder-project");
    if (chosenProject.value !== project) delete find("#found").dataset.of; /* the list is of another */
    chosenProject.value = project;
    box.placeholder = project ? "Go to a file of this project" : "Go to a file of any project";
    return box;
  };

  const openFinder = () => {
    const dialog = find("#finder");
    if (!dialog) {
      find("[data-find-box]").focus();
      return;
    }
    const project = /^\/p\/([0-9a-f]{64})(?:\/|$)/.exec(location.pathname);
    const box = lookIn(project ? project[1] : "");
    opensFirst = false;
    dialog.showModal();
    box.focus();
    box.select();
    askFirst(find("form", dialog));
  };

  /* Where nothing fits in the project of the page. */
  const lookEverywhere = () => {
    lookIn("").focus();
    htmx.trigger("#finder form", "opened");
  };

  /* Left at once: until the next frame the keys would still go to a box that nobody sees. */
  const closeFinder = () => {
    find("#finder").close();
    find("#finder-box").blur();
  };

  keys.t = openFinder;

  /* What is typed may be newer than the list: Enter then waits for the list that belongs to it. */

  let opensFirst = false;
  /* A list is there a moment before its first file is chosen. */
  const goOn = () => (chosen() || options()[0] || find("#found [data-find-everywhere]"))?.click();
  const isWaiting = () => find("#found").dataset.of !== find("#finder-box").value.trim();

  document.addEventListener("htmx:after:swap", ({ detail }) => {
    if (detail.ctx?.target?.id !== "found" || !find("#finder[open]")) return;
    choose(0);
    if (!opensFirst || isWaiting()) return;
    opensFirst = false;
    chosen()?.click();
  });

  document.addEventListener("keydown", (event) => {
    if (event.target.id !== "finder-box" || event.isComposing) return;
    const at = options().indexOf(chosen());
    if (event.key === "ArrowDown") choose(at + 1);
    else if (event.key === "ArrowUp") choose(at < 0 ? -1 : at - 1);
    else if (event.key === "Enter") {
      if (isWaiting()) opensFirst = true;
      else goOn();
    } else if (event.key === "Escape") closeFinder(); /* a browser clears the box first */
    else return;
    event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const dialog = find("#finder");
    if (dialog && event.target.closest("[data-find-everywhere]")) {
      event.preventDefault();
      lookEverywhere();
    } else if (event.target.closest("[data-close-finder]") || (dialog && event.target === dialog)) {
      closeFinder();
    } else if (event.target.closest("#found-list [role=option]")) {
      closeFinder(); /* a line of this very page makes no new one */
    } else if (event.target.closest("[data-open-finder]") && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      openFinder();
    }
  });
}
