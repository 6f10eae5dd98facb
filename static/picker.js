/* Dialogs that pick from a list while one types: t finds a file, Ctrl-K (palette.js) finds anything.
   Arrow keys, Home and End choose, Enter opens, Ctrl-Enter opens in a new tab, Esc closes. The server
   ranks and renders the lists. Uses keys, find, all and onEvent of app.js, which is loaded first. */
"use strict";

const picker = {};

{ /* a block, since the scripts of a page share one scope */
  const boxOf = (dialog) => find("[role=combobox]", dialog);
  const listOf = (dialog) => find("[data-of]", dialog);
  const optionsOf = (dialog) => all("[role=option]", dialog);
  const chosenIn = (dialog) => find("[aria-selected=true]", dialog);
  /* Dialogs in which Enter was pressed before the list matched the text, and whether it was Ctrl-Enter. */
  const waiting = new Map();
  /* What was chosen by keys since the text changed, by dialog. */
  const picked = new Map();
  /* Whether the text is newer than the list. */
  const isLate = (dialog) => listOf(dialog).dataset.of !== boxOf(dialog).value.trim();

  /* Let the list count as late until the server has answered; no text is a line feed. */
  picker.forget = (dialog) => {
    listOf(dialog).dataset.of = "\n";
  };

  const choose = (dialog, at) => {
    const box = boxOf(dialog);
    const shown = optionsOf(dialog);
    const option = shown[(at + shown.length) % shown.length];
    shown.forEach((each) => each.setAttribute("aria-selected", String(each === option)));
    box.setAttribute("aria-expanded", String(shown.length > 0));
    if (!option) {
      box.removeAttribute("aria-activedescendant");
      return;
    }
    box.setAttribute("aria-activedescendant", option.id);
    if (option === shown[0]) find("[role=listbox]", dialog).scrollTop = 0; /* with its heading */
    else option.scrollIntoView({ block: "nearest" });
  };

  const contentOf = (option) => option?.href || option?.dataset.form || option?.dataset.act;

  const pick = (dialog, at) => {
    waiting.delete(dialog); /* Enter was for what was chosen before */
    choose(dialog, at);
    picked.set(dialog, contentOf(chosenIn(dialog)));
  };

  const tell = (dialog, problem) => {
    const line = find("[data-picker-problem]", dialog);
    line.textContent = problem;
    line.hidden = !problem;
  };

  /* The key may be pressed before htmx has processed the form. */
  const askFirst = (form) => {
    if ("htmxPowered" in form.dataset) htmx.trigger(form, "opened");
    else setTimeout(askFirst, 20, form);
  };

  picker.refresh = (dialog) => askFirst(find("form", dialog));

  /* The project of the page or of its search, or "". */
  picker.project = () => /^\/p\/([0-9a-f]{64})(?:\/|$)/.exec(location.pathname)?.[1]
    || find('main [data-scope] input[name="project"]')?.value || "";

  picker.open = (dialog) => {
    find("dialog[open]")?.close();
    waiting.delete(dialog);
    picked.delete(dialog);
    tell(dialog, "");
    dialog.showModal();
    boxOf(dialog).focus();
    boxOf(dialog).select();
    picker.refresh(dialog);
  };

  /* The focus returns to where it was. It leaves the box at once: until the next frame, keys would
     still go there. */
  picker.close = (dialog) => {
    dialog.close();
    boxOf(dialog).blur();
  };

  const take = (dialog, isNewTab) => {
    const option = chosenIn(dialog) || optionsOf(dialog)[0] || find("[data-find-everywhere]", dialog);
    if (isNewTab && option?.href && option.role === "option") {
      picker.close(dialog);
      window.open(option.href, "_blank", "noopener");
    } else option?.click();
  };

  const enter = (dialog, isNewTab) => {
    const isPicked = picked.has(dialog) && chosenIn(dialog);
    if (isLate(dialog) && !isPicked) {
      waiting.set(dialog, isNewTab);
      if (!find("[data-picker-problem]", dialog).hidden) picker.refresh(dialog);
    } else take(dialog, isNewTab);
  };

  document.addEventListener("htmx:after:swap", ({ detail }) => {
    const dialog = document.getElementById(detail.ctx?.target?.id)?.closest("[data-picker]");
    if (!dialog?.open) return;
    tell(dialog, "");
    dialog.dispatchEvent(new Event("listed"));
    const at = optionsOf(dialog).findIndex((each) => contentOf(each) === picked.get(dialog));
    if (at < 0) picked.delete(dialog);
    choose(dialog, Math.max(at, 0));
    if (!waiting.has(dialog) || isLate(dialog)) return;
    const isNewTab = waiting.get(dialog);
    waiting.delete(dialog);
    take(dialog, isNewTab);
  });

  const dialogOf = ({ detail }) => detail.ctx?.sourceElement?.closest("[data-picker]");

  document.addEventListener("htmx:before:response", (event) => {
    const dialog = dialogOf(event);
    if (dialog && event.detail.ctx.response.status >= 400) {
      waiting.delete(dialog);
      tell(dialog, "The server could not answer. Press Enter to try again.");
    }
  });
  document.addEventListener("htmx:error", (event) => {
    const dialog = dialogOf(event);
    if (!dialog?.open || event.detail.ctx.response) return;
    waiting.delete(dialog);
    tell(dialog, "Server unreachable. Press Enter to try again.");
  });

  document.addEventListener("input", (event) => {
    const dialog = event.target.closest("[data-picker]");
    waiting.delete(dialog); /* Enter was for the text before */
    picked.delete(dialog);
  });

  document.addEventListener("keydown", (event) => {
    if (!event.target.matches("[data-picker] [role=combobox]") || event.isComposing) return;
    const dialog = event.target.closest("[data-picker]");
    const at = optionsOf(dialog).indexOf(chosenIn(dialog));
    const acts = {
      ArrowDown: () => pick(dialog, at + 1),
      ArrowUp: () => pick(dialog, at < 0 ? -1 : at - 1),
      Home: () => pick(dialog, 0),
      End: () => pick(dialog, -1),
      Enter: () => enter(dialog, event.ctrlKey || event.metaKey),
      Escape: () => picker.close(dialog), /* otherwise browsers clear the box first */
    };
    if (!Object.hasOwn(acts, event.key) || event.altKey || event.shiftKey) return;
    acts[event.key]();
    event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const dialog = event.target.closest("[data-picker]");
    if (!dialog) return;
    const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (event.target === dialog || event.target.closest("[data-close-picker]")) picker.close(dialog);
    else if (event.target.closest("a[role=option]") && isPlain) {
      picker.close(dialog); /* a link to a line of this page loads nothing */
    }
  });

  /* The file finder: in the project of the page, and in all projects if it has no match. */

  const finder = find("#finder");

  const lookIn = (project) => {
    const chosenProject = find("#finder-project");
    if (chosenProject.value !== project) picker.forget(finder); /* the list belongs to another project */
    chosenProject.value = project;
    boxOf(finder).placeholder = project ? "Go to a file of this project" : "Go to a file of any project";
  };

  picker.findFile = () => {
    if (!finder) {
      find("[data-find-box]").focus();
      return;
    }
    lookIn(picker.project());
    picker.open(finder);
  };

  keys.t = picker.findFile;

  document.addEventListener("click", (event) => {
    if (finder && event.target.closest("[data-find-everywhere]")) {
      event.preventDefault();
      lookIn("");
      boxOf(finder).focus();
      picker.refresh(finder);
    } else if (event.target.closest("[data-open-finder]") && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      picker.findFile();
    }
  });
}
