/* The settings page: a filter by name, meaning and group. Uses find and all of app.js, which is loaded
   first. */
"use strict";

{ /* a block, since the scripts of a page share one scope */
  const filter = find("[data-filter-settings]");

  const narrow = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of all("[data-setting]")) {
      const text = row.dataset.setting.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const groups = all("[data-setting-group]");
    for (const group of groups) group.hidden = !find("[data-setting]:not([hidden])", group);
    find("[data-no-settings]").hidden = groups.some((group) => !group.hidden);
  };

  filter.addEventListener("input", narrow);
}
