// Keys for slides: on and back, first and last. Whoever is at a control keeps the keys for it.
"use strict";

const STEPS = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 };
const ENDS = { Home: -Infinity, End: Infinity };

addEventListener("keydown", (event) => {
  const step = STEPS[event.key] ?? ENDS[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, button, a, summary, [role=slider], [tabindex]")) return;
  const slides = [...document.querySelectorAll(".slide")];
  const tops = slides.map((slide) => Math.abs(slide.getBoundingClientRect().top));
  const next = Math.min(Math.max(tops.indexOf(Math.min(...tops)) + step, 0), slides.length - 1);
  event.preventDefault();
  slides[next].scrollIntoView({ behavior: "instant" });
});
