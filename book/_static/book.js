// What the page needs beyond the theme and the widgets: repairs, less motion, and names for screen readers.
// The controls themselves are plain ipywidgets; nothing here makes them work.
"use strict";

// Search fetches pages to quote from them, which browsers refuse for files.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// Its quotes leave out what a page has for readers without scripts: each formula would be there twice.
if (typeof Search !== "undefined") {
  const quote = Search.htmlToText;
  Search.htmlToText = (html, anchor) => quote(html.replace(/<noscript>.*?<\/noscript>/gs, ""), anchor);
}

// MathJax typesets one request at a time, and one queue keeps it so: that of the page, of its widgets, which speak to
// MathJax 2 (MathJax.Hub.Queue), and of its cards. A request that fails says so and lets the next one go on.
if (window.MathJax?.startup) {
  MathJax.typesetNext = (element) => {
    MathJax.startup.promise = MathJax.startup.promise
      .then(() => MathJax.typesetPromise([element]))
      .catch((error) => console.error(error.message));
    return MathJax.startup.promise;
  };
  MathJax.Hub = { Queue: ([, , element]) => MathJax.typesetNext(element) };
}

// A name in code that is too long for its column breaks after a dot or an underscore, if it can.
addEventListener("DOMContentLoaded", () => {
  for (const name of document.querySelectorAll("table.notation code .pre")) {
    name.innerHTML = name.innerHTML.replace(/[._](?=.)/g, "$&<wbr>");
  }
});

// Paper cannot be unfolded: hints print open. Code prints as it was left: most of it only draws.
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("article details:not(.hide, [open])")) {
    fold.open = true;
    fold.dataset.forPaper = "";
  }
});
addEventListener("afterprint", () => {
  for (const fold of document.querySelectorAll("details[data-for-paper]")) {
    fold.open = false;
    delete fold.dataset.forPaper;
  }
});

// Whoever asked the system for less motion gets none that runs by itself: a press of Play is one step, so that
// everything the animation shows can be seen, in the reader's own time.
const still = matchMedia("(prefers-reduced-motion: reduce)");
const isPlaying = (box) => box.querySelector(".fa-pause") !== null;

function pauseWhatPlays() {
  if (!still.matches) return;
  document.querySelectorAll(".widget-play button").forEach((button) => { if (isPlaying(button)) button.click(); });
}
document.addEventListener("click", pauseWhatPlays); // after Play has answered it by its first step
still.addEventListener("change", pauseWhatPlays);

// ipywidgets gives slider handles, groups of buttons and Play no names, and does not announce a new frame.
(function () {
  function set(element, name, value) {
    if (element && value && element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
  const label = (widget) => (widget.querySelector(".widget-label") || {}).textContent;

  function nameSlider(handle) {
    const slider = handle.closest(".widget-slider");
    const readout = slider.querySelector(".widget-readout");
    set(handle, "aria-label", label(slider));
    set(handle, "aria-valuetext", readout.textContent);
    set(readout, "contenteditable", "false"); // typing there does nothing, and Tab would stop twice
  }

  function nameButtons(group) {
    set(group, "role", "group");
    set(group, "aria-label", label(group));
    for (const button of group.querySelectorAll("button")) {
      set(button, "aria-pressed", String(button.classList.contains("mod-active")));
    }
  }

  function nameQuestion(box) {
    const choices = box.querySelector(".widget-radio-box");
    const question = box.querySelector(".widget-html p");
    set(choices, "role", "radiogroup");
    set(choices, "aria-label", question && question.textContent);
    set(box.querySelector(".predict-answer"), "aria-live", "polite");
  }

  function namePlay(play) {
    const first = isPlaying(play) ? "Pause" : still.matches ? "Next step" : "Play";
    const names = [first, "Back to the start", "Repeat"];
    play.querySelectorAll("button").forEach((button, i) => set(button, "aria-label", names[i]));
  }

  function nameExplorer(box) {
    // An animation that announced each of its frames would never let a listener go.
    set(box.querySelector(".explorer-frames"), "aria-live", isPlaying(box) ? "off" : "polite");
  }

  function nameFold(summary) {
    summary.removeAttribute("aria-label"); // "Toggle hidden content" hides that it says "Show the code"
  }

  function nameSymbol(link) {
    // A link that is nothing but a typeset symbol: its letters are drawn by the style sheet, not written.
    const words = link.cloneNode(true);
    words.querySelectorAll("noscript").forEach((unseen) => unseen.remove());
    set(link, "aria-label", words.textContent.trim());
  }

  function nameReferences(list) {
    list.removeAttribute("role"); // it says "list", but its entries are no list items
  }

  function nameAllIn(part) {
    const each = (selector, name) => part.querySelectorAll(selector).forEach(name);
    each(".citation-list[role]", nameReferences);
    each("article a:has(mjx-assistive-mml):not([aria-label])", nameSymbol);
    each("details.hide > summary[aria-label]", nameFold);
    each(".noUi-handle", nameSlider);
    each(".widget-toggle-buttons", nameButtons);
    each(".predict", nameQuestion);
    each(".widget-play", namePlay);
    each(".explorer", nameExplorer);
  }

  // To look through a long page takes as long as to draw a frame: where one explorer moves, only its cell is looked at.
  const changed = new Set();
  function nameSoon(records) {
    if (!changed.size) requestAnimationFrame(() => { changed.forEach(nameAllIn); changed.clear(); });
    for (const { target } of records) changed.add(target.parentElement?.closest(".cell_output") ?? document);
  }
  still.addEventListener("change", () => nameSoon([{ target: document }]));
  new MutationObserver(nameSoon).observe(document.documentElement, {
    subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ["class"],
  });
})();
