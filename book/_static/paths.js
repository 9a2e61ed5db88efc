// No spoilers, and two paths: veils over what follows a prediction, folds around what is deeper, the switch.
// It runs while the page is still being read, so that nothing is seen and then hidden.
"use strict";

(function () {
  const KEY = "path";
  const asked = new Map(); // each veil, and the line that offers to lift it
  let path = "short";
  try {
    path = localStorage.getItem(KEY) === "everything" ? "everything" : "short";
  } catch { /* a browser that remembers nothing */ }

  function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  // Veils

  function drop(veil) {
    veil.id = `veil-${asked.size + 1}`;
    veil.tabIndex = -1; // for the focus of whoever lifts it
    veil.setAttribute("hidden", "until-found");
    const button = element("button", { type: "button", onclick: () => lift(veil) }, "Show me");
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-controls", veil.id);
    const line = element("p", { className: "veil-ask" }, "What follows waits for your answer. ", button);
    asked.set(veil, line);
    veil.before(line);
  }

  function lift(veil) {
    const line = asked.get(veil);
    const focused = line.contains(document.activeElement);
    veil.removeAttribute("hidden");
    line.remove();
    if (focused) veil.focus({ preventScroll: true });
  }

  // The cell of a prediction stands before the line that stands before its veil.
  function answered(event) {
    for (const [veil, line] of asked) {
      const cell = line.previousElementSibling;
      if (cell && cell.contains(event.target) && event.target.type === "radio") lift(veil);
    }
  }

  // Folds and the switch

  function choose(name) {
    path = name;
    try {
      localStorage.setItem(KEY, name);
    } catch { /* then for this page only */ }
    for (const fold of document.querySelectorAll("details.deeper")) fold.open = name === "everything";
    for (const button of document.querySelectorAll(".paths button")) press(button);
  }

  function press(button) {
    button.setAttribute("aria-pressed", String(button.value === path));
  }

  function offer(place) {
    const words = { short: "Short path", everything: "Everything" };
    for (const [name, word] of Object.entries(words)) {
      const text = `${word}, ${place.dataset[name]} min`;
      const button = element("button", { type: "button", value: name, onclick: () => choose(name) }, text);
      press(button);
      place.append(button);
    }
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", "How much to read");
  }

  function meet(fold) {
    fold.dataset.met = "";
    fold.open = path === "everything";
  }

  // What was asked for is shown, however deep it is.

  function reveal(target) {
    let hidden = false;
    for (let at = target; at; at = at.parentElement) {
      if (at.matches("details:not([open])")) {
        at.open = hidden = true;
      } else if (at.matches(".veil[hidden]")) {
        lift(at);
        hidden = true;
      }
    }
    return hidden;
  }

  function follow(hash) {
    const target = document.getElementById(decodeURIComponent(hash.slice(1)));
    if (target && reveal(target)) target.scrollIntoView();
  }

  function arrange() {
    document.querySelectorAll(".veil:not([id])").forEach(drop);
    document.querySelectorAll(".paths:not([role])").forEach(offer);
    document.querySelectorAll("details.deeper:not([data-met])").forEach(meet);
  }

  const parsing = new MutationObserver(arrange);
  parsing.observe(document.documentElement, { subtree: true, childList: true });
  addEventListener("DOMContentLoaded", () => {
    parsing.disconnect();
    arrange();
    follow(location.hash);
  });
  // The search marks its words a moment after the page is read.
  addEventListener("load", () => setTimeout(() => {
    document.querySelectorAll("article .highlighted").forEach(reveal);
  }, 50));
  addEventListener("hashchange", () => follow(location.hash));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href*='#']");
    if (link && link.pathname === location.pathname) follow(link.hash); // again, the address does not change
  });
  document.addEventListener("beforematch", (event) => reveal(event.target));
  document.addEventListener("change", answered);
})();
