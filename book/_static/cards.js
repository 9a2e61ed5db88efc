// A small card with the definition, at each link to a word of the glossary or a symbol of the notation; and
// addresses that lead to where they say.
// The page carries the definitions in template elements (book_cards.py); without scripts links are just links.
"use strict";

(function () {
  const MARGIN = 8; // between a card and the edge of the window, or its link
  const PATIENCE = 200; // milliseconds that the mouse may take on its way: to mean it, or to reach the card
  let link = null; // the one whose card is open, or about to be
  let timer = null;
  let touched = false; // whether the last press was a finger's

  const cardOf = (one) => document.getElementById(one.dataset.card);
  const header = () => document.querySelector(".bd-header-article")?.getBoundingClientRect().bottom ?? 0;

  // What a formula says, in a line of text: its MathML is in the element for readers without scripts.
  function inWords(node) {
    const parts = [...node.childNodes].map(inWords);
    const join = { mfrac: "/", msub: "_", msup: "^", munder: "_", mover: "^" }[node.localName];
    if (join) return parts.map((part) => (part.length > 2 ? `(${part})` : part)).join(join);
    if (node.localName === "msubsup" || node.localName === "munderover") return `${parts[0]}_${parts[1]}^${parts[2]}`;
    if (node.localName === "mo" && "=<>≤≥+−→".includes(parts[0])) return ` ${parts[0]} `;
    return node.nodeType === Node.TEXT_NODE ? node.data : parts.join("");
  }

  function asText(content) {
    const words = content.cloneNode(true);
    for (const formula of words.querySelectorAll(".math")) {
      const mathml = new DOMParser().parseFromString(formula.querySelector("noscript").textContent, "text/html");
      formula.replaceWith(inWords(mathml.body));
    }
    words.querySelectorAll(".card-name, .card-more").forEach((part) => part.remove());
    return words.textContent.replace(/\s+/g, " ").trim();
  }

  function prepare(template, number) {
    const links = document.querySelectorAll(`article a.reference[href="${template.dataset.card}"]`);
    if (!links.length) return;
    const about = document.createElement("p"); // what screen readers say with the link
    about.id = `card-${number}-text`;
    about.hidden = true;
    about.textContent = asText(template.content);
    const card = document.createElement("div");
    card.id = `card-${number}`;
    card.className = "card-of-word";
    card.setAttribute("role", "note");
    card.hidden = true;
    card.template = template;
    document.body.append(about, card);
    for (const one of links) {
      one.classList.add("has-card");
      one.dataset.card = card.id;
      one.setAttribute("aria-describedby", about.id);
    }
  }

  // A card is filled when it is first opened; MathJax then typesets it, one after the other.
  function fill(card) {
    if (!card.ready) {
      card.append(card.template.content.cloneNode(true));
      card.querySelectorAll("noscript").forEach((unseen) => unseen.remove());
      card.ready = card.querySelector(".math") ? MathJax.typesetNext(card) : Promise.resolve();
    }
    return card.ready;
  }

  function place(card, one) {
    const at = one.getClientRects()[0] ?? one.getBoundingClientRect();
    const edge = document.documentElement.clientWidth - card.offsetWidth - MARGIN;
    const above = at.top - card.offsetHeight - MARGIN;
    const below = at.bottom + MARGIN;
    const fits = below + card.offsetHeight + MARGIN <= innerHeight || above < header();
    card.style.left = `${scrollX + Math.max(MARGIN, Math.min(at.left, edge))}px`;
    card.style.top = `${scrollY + (fits ? below : above)}px`;
  }

  async function open(one) {
    clearTimeout(timer);
    if (link === one) return;
    close();
    link = one;
    const card = cardOf(one);
    card.style.visibility = "hidden"; // until it is typeset and has its place
    card.hidden = false;
    await fill(card);
    if (link !== one) return;
    place(card, one);
    card.style.visibility = "";
  }

  function close() {
    clearTimeout(timer);
    if (link) cardOf(link).hidden = true;
    link = null;
  }

  function soon(what) {
    clearTimeout(timer);
    timer = setTimeout(what, PATIENCE);
  }

  const linkAt = (event) => event.target.closest?.("a.has-card");
  const isInside = (event) => event.target.closest?.(".card-of-word");

  document.querySelectorAll("template[data-card]").forEach(prepare);

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const one = linkAt(event);
    if (one && one !== link) soon(() => open(one));
    else if (one || isInside(event)) clearTimeout(timer);
    else if (link && document.activeElement !== link) soon(close);
    else clearTimeout(timer);
  });
  document.addEventListener("focusin", (event) => {
    const one = linkAt(event);
    if (one?.matches(":focus-visible")) open(one);
    else if (!one && !isInside(event)) close();
  });
  document.addEventListener("focusout", (event) => {
    if (linkAt(event) === link && !event.relatedTarget?.closest(".card-of-word")) close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  document.addEventListener("pointerdown", (event) => {
    touched = event.pointerType === "touch";
    if (!linkAt(event) && !isInside(event)) close();
  });
  // The first tap opens the card. The next one, on the link or in the card, goes there.
  document.addEventListener("click", (event) => {
    const one = linkAt(event);
    if (!one || !touched || link === one) return;
    event.preventDefault();
    open(one);
  });
  addEventListener("resize", close);
  addEventListener("scroll", () => { if (link) place(cardOf(link), link); }, { passive: true });
})();

// Formulas and widgets grow while a page loads, and would push what its address names out of sight. It is held in
// place until the reader does something; who comes back to a page finds it as it was.
(function () {
  const comesBack = performance.getEntriesByType("navigation")[0]?.type !== "navigate";
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (comesBack || !target) return;
  const hold = new ResizeObserver(() => target.scrollIntoView({ behavior: "instant" }));
  hold.observe(document.querySelector("article"));
  for (const act of ["wheel", "touchstart", "pointerdown", "keydown", "hashchange"]) {
    addEventListener(act, () => hold.disconnect(), { once: true, passive: true });
  }
})();
