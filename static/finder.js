/* The file finder: t opens the dialog, arrow keys choose, Enter opens the file, or searches all
   projects if this one has no match. The server ranks and renders the list. Uses keys, find and all of
   app.js, which is loaded first. */
"use strict";

{ /* a block, since the scripts of a page share one scope */
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

  /* The key may be pressed before htmx has processed the form. */
  const askFirst = (form) => {
    if ("htmxPowered" in form.dataset) htmx.trigger(form, "opened");
    else setTimeout(askFirst, 20, form);
  };

  const lookIn = (project) => {
    const box = find("#finder-box");
    const chosenProject = find("#finder-project");
    if (chosenProject.value !== project) delete find("#found").dataset.of; /* the list belongs to another project */
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

  /* If nothing matches in the project of the page. */
  const lookEverywhere = () => {
    lookIn("").focus();
    htmx.trigger("#finder form", "opened");
  };

  /* Blur at once: until the next frame, keys would still go to the hidden box. */
  const closeFinder = () => {
    find("#finder").close();
    find("#finder-box").blur();
  };

  keys.t = openFinder;

  /* The text may be newer than the list: Enter then waits for the matching list. */

  let opensFirst = false;
  /* The list appears a moment before its first file is chosen. */
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
    } else if (event.key === "Escape") closeFinder(); /* otherwise browsers clear the box first */
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
      closeFinder(); /* a link to a line of this page loads nothing */
    } else if (event.target.closest("[data-open-finder]") && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      openFinder();
    }
  });
}
