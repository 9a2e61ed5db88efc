// What axe finds serious in the article: by every rule ("all"), by those that a theme can change ("colors"), or by the one
// that asks whether the keyboard reaches what scrolls ("scrolling").  Run in the page by the tests.  The more elements, the
// longer axe takes, and most are letters of formulas, which are drawn as decorations and which it cannot judge, and words of
// code.  So formulas and code are set aside while it looks, and of all texts that look alike a few stand for the others.
async (how) => {
  const ALIKE = 2; // one may be where axe cannot see what is behind it
  const article = document.querySelector("article");
  const chains = new Map(); // each element, and every background that there is behind it
  function behind(element) {
    if (!element) return "";
    if (!chains.has(element)) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(element);
      const own = `${backgroundColor} ${backgroundImage} ${opacity}`;
      chains.set(element, behind(element.parentElement) + (own === "rgba(0, 0, 0, 0) none 1" ? "" : `/${own}`));
    }
    return chains.get(element);
  }

  const looks = new Map(); // each way for a text to look, and the first elements that have it
  const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  for (let text = how !== "scrolling" && texts.nextNode(); text; text = texts.nextNode()) {
    const box = text.parentElement;
    if (text.data.trim().length < 2 || box.closest("mjx-container")) continue; // axe does not judge single letters
    if (!box.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const { color, fontSize, fontWeight } = getComputedStyle(box);
    const look = [box.localName, box.getAttribute("class"), color, fontSize, fontWeight, behind(box)].join();
    if (!looks.has(look)) looks.set(look, new Set());
    if (looks.get(look).size < ALIKE) looks.get(look).add(box);
  }
  const shown = [...looks.values()].flatMap((boxes) => [...boxes]);

  const aside = [];
  function replace(box, nodes) {
    aside.push([box, [...box.childNodes]]);
    box.replaceChildren(...nodes);
  }
  const stays = new Set();
  for (const box of shown) for (let at = box; at && !stays.has(at); at = at.parentElement) stays.add(at);
  const lean = (node) => (stays.has(node) ? node : node.textContent);
  document.querySelectorAll("mjx-container").forEach((box) => replace(box, []));
  document.querySelectorAll("pre").forEach((box) => replace(box, [...box.childNodes].map(lean)));

  // What a rule finds has the impact of the rule, if that has one: those that find nothing serious need not run.
  // No rule that runs reads the style sheets, which axe would fetch, and a browser refuses for files.
  const preload = { assets: ["media"] };
  const run = (where, rules) => axe.run(where, { resultTypes: ["violations"], preload, ...rules });
  const colors = ["color-contrast", "link-in-text-block"];
  const slight = axe._audit.rules.filter(({ impact }) => ["minor", "moderate"].includes(impact)).map(({ id }) => id);
  const others = { rules: Object.fromEntries([...colors, ...slight].map((rule) => [rule, { enabled: false }])) };
  try {
    const found = [];
    if (how === "scrolling") found.push(await run(article, { runOnly: ["scrollable-region-focusable"] }));
    if (how === "all") found.push(await run(article, others));
    if (how !== "scrolling") found.push(await run(shown, { runOnly: colors }));
    return found.flatMap((one) => one.violations)
      .filter((violation) => ["serious", "critical"].includes(violation.impact))
      .flatMap((violation) => violation.nodes.map((node) => [violation.id, node.html.slice(0, 200)]));
  } finally {
    aside.forEach(([box, nodes]) => box.replaceChildren(...nodes));
  }
}
