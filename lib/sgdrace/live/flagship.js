// The race as a part of a page: controls, clock and words. Knows the DOM; what is raced, said and drawn comes from
// race.js, setting.js and drawing.js.

const SPEEDS = [0.25, 0.5, 1, 2, 4];
const RATES = Array.from({ length: 41 }, (_, n) => +(FACTS.learning_rates[0] * (FACTS.learning_rates[1] / FACTS.learning_rates[0]) ** (n / 40)).toPrecision(2));
const RULE = {
  "K-sync": (K, P) => (K === P ? "waits for all" : `waits for ${K}, cancels`),
  "K-batch-sync": (K) => `takes any ${K}, cancels`,
  "K-async": (K, P) => (K === P ? "waits for all" : K === 1 ? "nobody waits" : `waits for ${K}, goes on`),
  "K-batch-async": (K) => (K === 1 ? "nobody waits" : `takes any ${K}, goes on`),
};
const FATES = [FRESH, STALE, "running", "idle", "cancelled"];
const THEMES = ["class", "style", "data-theme", "data-mode", "data-jp-theme-light"]; // where pages say that they are dark
const SLOW = 24, QUICK = 18.5; // milliseconds of a frame that are too many, and that leave room for more pixels

// Mounts a race in `host`. `onchange` hears of every setting that the reader chooses; `linked` says whether the address
// of the page follows.
function mount(host, { wish = {}, t: at = 0, said = [], linked = true, onchange = () => {} } = {}) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const id = `race-${document.querySelectorAll("[data-mounted]").length}`;
  root.innerHTML = `<style>${CSS}</style>${html(id, linked)}`;
  const parts = new Map([...root.querySelectorAll("[data-is]")].map((element) => [element.dataset.is, element]));
  const $ = (name) => parts.get(name);
  const put = (name, words) => { if ($(name).textContent !== words) $(name).textContent = words; };
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const dressed = ["(prefers-color-scheme: dark)", "(forced-colors: active)"].map((one) => matchMedia(one));

  let { setting } = settingOf(wish), luck = luckOf(setting.seed), race = fourRaces(setting, luck), theory = theoryOf(setting);
  let t = clamp(at, 0, race.until), playing = false, visible = true, speed = 1, bets = {}, many = null;
  let handle = 0, last = 0, told = 0, frames = 0, look = {}, sizes = null;
  const pixels = { level: 0, frame: 16, good: 0, patience: 120 }; // a slow machine draws motion with fewer of them

  // ---- The clock: a race takes about half a minute, its start in slow motion ----------------------------------------
  const pace = (time) => {
    const cruise = race.until / 28, slow = Math.min(cruise, 0.32), ramp = clamp(time / (0.14 * race.until), 0, 1);
    return slow + (cruise - slow) * ramp * ramp * (3 - 2 * ramp);
  };
  const rest = () => setTimeout(() => { handle = 0; frame(performance.now()); }, 700);
  function request() { if (!handle && visible) handle = still.matches ? rest() : requestAnimationFrame(frame); }
  function frame(now) {
    handle = 0;
    if (!playing || !visible) return;
    const passed = last ? now - last : 16;
    last = now;
    if (!still.matches) adapt(passed);
    t = Math.min(race.until, t + (still.matches ? (speed * race.until) / 50 : (Math.min(passed, 100) / 1000) * speed * pace(t)));
    draw();
    if (now - told > 200) { told = now; tell(); }
    if (t >= race.until) pause();
    else request();
  }
  // Fewer pixels where frames are late, more again after a while of timely ones; each relapse makes it more patient.
  function adapt(passed) {
    pixels.frame += 0.06 * (Math.min(passed, 100) - pixels.frame);
    pixels.good = pixels.frame < QUICK ? pixels.good + 1 : 0;
    const change = pixels.frame > SLOW && pixels.level < 2 ? 1 : pixels.good > pixels.patience && pixels.level > 0 ? -1 : 0;
    if (!change) return;
    pixels.level += change;
    if (change > 0) pixels.patience *= 2;
    pixels.good = 0;
    pixels.frame = 20;
    measure();
  }
  function play() {
    if (t >= race.until) t = 0;
    playing = true; last = 0; pixels.frame = 16;
    if (pixels.level) measure();
    buttons(); request();
  }
  function pause() {
    playing = false;
    clearTimeout(handle); cancelAnimationFrame(handle); handle = 0;
    measure(); buttons(); draw(); tell(); announce();
  }
  function seek(time) { t = clamp(time, 0, race.until); draw(); tell(); buttons(); if (!playing) announceSoon(); }

  // ---- A new setting: everything follows from it, with the same luck ------------------------------------------------
  function set(change, from = "reader") {
    if (change.law && change.law !== setting.law && !("parameter" in change)) change = { ...change, parameter: undefined };
    if (change.P && !("K" in change)) change = { ...change, K: Math.min(setting.K, change.P) };
    const before = setting, found = settingOf({ ...setting, ...change });
    setting = found.setting;
    if (setting.seed !== before.seed) luck = luckOf(setting.seed);
    race = fourRaces(setting, luck);
    theory = theoryOf(setting);
    many = null;
    t = Math.min(t, race.until);
    controls(from); draw(); tell(); announceSoon(); complain(from === "reader" ? [] : found.said);
    if (linked) remember();
    onchange(setting, from);
  }
  function complain(sentences) { put("said", sentences.join(" ")); $("said").hidden = !sentences.length; }

  // ---- Pictures -----------------------------------------------------------------------------------------------------
  const gates = [...root.querySelectorAll(".gate canvas")];
  function readLook() {
    const whole = getComputedStyle($("race")); // as computed: a reader may have forced other colors on the page
    look = { ...look, ink: whole.color, paper: whole.backgroundColor, muted: getComputedStyle($("lesson")).color, font: whole.fontFamily };
    const probe = document.createElement("canvas").getContext("2d");
    probe.fillStyle = look.paper;
    probe.fillRect(0, 0, 1, 1);
    const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
    host.style.colorScheme = 0.3 * r + 0.6 * g + 0.1 * b < 128 ? "dark" : "light";
  }
  function measure() {
    const full = Math.min(devicePixelRatio || 1, 3), ratio = playing ? Math.max(1, full * [1, 0.6, 0.4][pixels.level]) : full;
    look.ratio = ratio;
    const fit = (canvas) => {
      const width = canvas.clientWidth, height = canvas.clientHeight;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      return { g: canvas.getContext("2d", { alpha: false }), width, height };
    };
    sizes = { gates: gates.map(fit), axis: fit($("axis")), chart: fit($("chart")) };
    const { width } = sizes.gates[0], gate = Math.round(0.64 * width);
    Object.assign(sizes, { gate, scale: gate / Math.min(width > 480 ? 3.2 : 2.6, race.until / 3), top: 24 });
  }
  function draw() {
    if (!sizes?.gates[0].width) return;
    look.brief = still.matches ? 0 : 0.2 * pace(t) * Math.max(speed, 0.5);
    const { gate, scale, top } = sizes;
    race.runners.forEach((runner, n) => drawGate(blank(sizes.gates[n]), runner, t, { ...sizes.gates[n], gate, scale, top }, look));
    drawAxis(blank(sizes.axis), t, { ...sizes.axis, gate, scale }, look);
    if (!playing || !pixels.level || frames++ % 2) drawLoss(blank(sizes.chart), race, t, sizes.chart, look);
  }
  function blank({ g }) {
    g.setTransform(1, 0, 0, 1, 0, 0); // in the pixels of the machine, or the last row stays black
    g.globalAlpha = 1;
    g.fillStyle = look.paper;
    g.fillRect(0, 0, g.canvas.width, g.canvas.height);
    g.setTransform(look.ratio, 0, 0, look.ratio, 0, 0);
    return g;
  }
  function drawLaws() {
    for (const canvas of root.querySelectorAll("canvas[data-law]")) {
      const { law } = canvas.dataset, { parameter } = law === setting.law ? setting : { parameter: LAW[law].parameter?.first };
      canvas.width = 88; canvas.height = 40;
      const g = canvas.getContext("2d");
      g.scale(2, 2);
      drawLaw(g, LAWS[law](law === "pasted" ? timesOf(setting) : parameter), { width: 44, height: 20 }, look.ink);
    }
  }

  // ---- Words and numbers, a few times a second ----------------------------------------------------------------------
  function tell() {
    const slider = $("time"), over = t >= race.until;
    slider.max = race.until;
    slider.value = t;
    slider.style.setProperty("--fill", `${(100 * t) / race.until}%`);
    slider.setAttribute("aria-valuetext", `${t.toFixed(1)} of ${race.until}`);
    put("clock", t.toFixed(1));
    $("bets").hidden = t > 0;
    put("story", t === 0 ? "The lowest loss leads. Place your bets, then press Play." : over ? verdict(race, bets) : lead(race, t));
    const losses = race.runners.map((runner) => lossAt(runner, t));
    race.runners.forEach((runner, n) => {
      const j = versionAt(runner, t), expected = theory[n];
      put(`count-${n}`, plural(j, "update"));
      put(`place-${n}`, t ? ["1st", "2nd", "3rd", "4th"][losses.filter((loss) => loss < losses[n]).length] : "");
      put(`pace-${n}`, j ? shown(runner.time[j] / j) : "–");
      put(`pace-theory-${n}`, between(expected.pace, shown));
      put(`stale-${n}`, j ? shown(runner.stale[j] / (j * race.K)) : "–");
      put(`stale-theory-${n}`, shown(expected.staleness));
      const shares = t ? sharesOfWork(runner, t) : {};
      for (const fate of FATES) $(`${fate}-${n}`).style.flexGrow = (shares[fate] ?? 0).toFixed(3);
      put(`used-${n}`, t ? percent(shares[FRESH] + shares[STALE]) : "–");
      put(`used-theory-${n}`, between(expected.used, percent));
      put(`wins-${n}`, many ? `${Math.round(many.early[n])} and ${Math.round(many.late[n])}` : "–");
    });
  }
  // A listener hears the state at rest, not each step on the way.
  let saying = 0;
  function announceSoon() { clearTimeout(saying); saying = setTimeout(announce, 300); }
  function announce() {
    const words = describe(race, t);
    put("status", `${$("story").textContent} ${words}`);
    $("chart").setAttribute("aria-label", `Loss against time. ${words}`);
    race.runners.forEach((runner, n) => {
      const work = describeWork(runner, t);
      gates[n].setAttribute("aria-label", work);
      $(`shares-${n}`).setAttribute("aria-label", work);
    });
  }

  // One race is an anecdote: many more, a few milliseconds at a time, so that the page can do something else between.
  let counting = false;
  function raceManyTimes() {
    const asked = setting, work = racingMany(asked);
    if (counting) return;
    counting = true;
    const rest = () => { counting = false; put("many-words", `Race ${MANY} times`); };
    const more = () => {
      if (asked !== setting) return rest();
      const stop = performance.now() + 12;
      let step;
      do step = work.next(); while (!step.done && performance.now() < stop);
      if (!step.done) {
        put("many-words", `${step.value} of ${MANY}`);
        return setTimeout(more, 0);
      }
      many = step.value;
      rest();
      put("sure", sure(many, race));
      tell();
    };
    more();
  }

  // ---- Controls -----------------------------------------------------------------------------------------------------
  function buttons() {
    put("play", playing ? "Pause" : t >= race.until ? "Again" : "Play");
    $("play").dataset.icon = playing ? "❚❚" : "▶";
  }
  function slide(name, value, words) {
    const slider = $(name);
    slider.value = value;
    slider.style.setProperty("--fill", `${(100 * (slider.value - slider.min)) / (slider.max - slider.min || 1)}%`);
    slider.setAttribute("aria-valuetext", words);
    put(`${name}-value`, words);
  }
  function controls(from) {
    const { parameter } = LAW[setting.law], nearest = (rate) => RATES.reduce((best, one, n) => (Math.abs(one - rate) < Math.abs(RATES[best] - rate) ? n : best), 0);
    $("K").max = setting.P;
    slide("P", setting.P, `${setting.P}`);
    slide("K", setting.K, `${setting.K}`);
    slide("eta", nearest(setting.eta), `${+setting.eta.toPrecision(3)}`);
    $("parameter-box").hidden = !parameter;
    if (parameter) {
      Object.assign($("parameter"), { min: parameter.low, max: parameter.high, step: parameter.step });
      put("parameter-name", parameter.name);
      slide("parameter", setting.parameter, parameter.percent ? `${Math.round(100 * setting.parameter)} %` : setting.parameter.toFixed(2));
    }
    root.querySelector(`input[value="${setting.law}"]`).checked = true;
    $("pasted").hidden = setting.law !== "pasted";
    if (root.activeElement !== $("times") || from === "notebook") $("times").value = setting.times || FACTS.sample.join("\n");
    pastedNote();
    race.runners.forEach((runner, n) => { for (const place of ["rule", "bet-rule"]) put(`${place}-${n}`, RULE[runner.variant](setting.K, setting.P)); });
    put("early-name", `Who leads at time ${race.early}?`);
    put("late-name", `Who wins at time ${race.until}?`);
    put("end", `${race.until}`);
    put("wins-name", `wins of ${MANY} at ${race.early} and ${race.until}`);
    put("sure", LAW[setting.law].says);
    const told = FACTS.stories.findIndex((story) => ["P", "K", "law", "eta", "parameter"].every((name) => story[name] === setting[name]));
    FACTS.stories.forEach((_, n) => $(`story-${n}`).setAttribute("aria-pressed", `${n === told}`));
    put("lesson", told < 0 ? "Your own race. The stories above bring you back." : FACTS.stories[told].says);
    measure(); drawLaws(); buttons();
  }
  function pastedNote() {
    const { times, columns, problem } = readTimes($("times").value, setting.column);
    put("times-note", problem || `${times.length} times, ${shown(times.reduce((a, b) => a + b, 0) / times.length)} on average.`);
    $("column-box").hidden = columns.length < 2;
    const options = columns.map((name) => new Option(name, name, false, name === setting.column));
    $("column").replaceChildren(...options);
  }
  let remembering = 0;
  function remember() { // browsers allow a hundred of these in half a minute
    clearTimeout(remembering);
    remembering = setTimeout(() => { try { history.replaceState(history.state, "", linkOf(setting)); } catch { /* a frame that may not */ } }, 400);
  }
  async function copyLink() {
    const hash = linkOf(setting, playing ? 0 : t);
    let words = "Link copied";
    clearTimeout(remembering); // it would take the moment out of the address again
    try { history.replaceState(history.state, "", hash); } catch { /* as above */ }
    try { await navigator.clipboard.writeText(location.href.replace(/#.*/, "") + hash); } catch { words = "It is in the address bar"; }
    put("link", words);
    setTimeout(() => put("link", "Copy link"), 2500);
  }

  const listen = (name, event, action) => $(name)?.addEventListener(event, action);
  listen("play", "click", () => (playing ? pause() : play()));
  listen("restart", "click", () => { if (playing) pause(); seek(0); });
  listen("time", "input", ({ target }) => seek(+target.value));
  listen("speed", "change", ({ target }) => { speed = +target.value; });
  for (const name of ["P", "K", "parameter"]) listen(name, "input", ({ target }) => set({ [name]: +target.value }));
  listen("eta", "input", ({ target }) => set({ eta: RATES[target.value] }));
  listen("times", "input", ({ target }) => { pastedNote(); if (!readTimes(target.value).problem) set({ times: target.value, column: "" }); });
  listen("column", "change", ({ target }) => set({ times: $("times").value, column: target.value }));
  listen("luck", "click", () => set({ seed: mixed(setting.seed) % 99991 }));
  listen("many", "click", raceManyTimes);
  listen("link", "click", copyLink);
  root.querySelectorAll(`[name="${id}-law"]`).forEach((radio) => radio.addEventListener("change", () => set({ law: radio.value })));
  for (const when of ["early", "late"]) {
    root.querySelectorAll(`[name="${id}-${when}"]`).forEach((radio) => radio.addEventListener("change", () => { bets[when] = +radio.value; }));
  }
  FACTS.stories.forEach(({ P, K, law, eta, parameter }, n) => listen(`story-${n}`, "click", () => { if (playing) pause(); t = 0; set({ P, K, law, eta, parameter: parameter ?? undefined }); }));

  // ---- The page around ----------------------------------------------------------------------------------------------
  const refresh = () => { readLook(); drawLaws(); draw(); };
  const resized = new ResizeObserver(() => { measure(); draw(); });
  resized.observe($("stage"));
  const themed = new MutationObserver(refresh);
  for (const element of [document.documentElement, document.body]) themed.observe(element, { attributes: true, attributeFilter: THEMES });
  for (const query of dressed) query.addEventListener("change", refresh);
  const watched = new IntersectionObserver((seen) => { visible = seen.at(-1).isIntersecting; last = 0; if (visible && playing) request(); });
  watched.observe($("stage"));
  const followLink = () => {
    const found = linked && fromLink(location.hash);
    if (found) { set(found.setting, "link"); complain(found.said); seek(found.t); }
  };
  addEventListener("hashchange", followLink);

  readLook(); controls(); draw(); tell(); announce(); complain(said);
  host.toggleAttribute("data-mounted", true);
  return Object.assign(host, {
    race: {
      set, seek, play, pause,
      get setting() { return { ...setting }; },
      get t() { return t; },
      get pixels() { return pixels.level; },
      destroy() {
        if (playing) pause();
        for (const observer of [resized, themed, watched]) observer.disconnect();
        for (const query of dressed) query.removeEventListener("change", refresh);
        removeEventListener("hashchange", followLink);
        root.replaceChildren();
      },
    },
  }).race;
}

function html(id, linked) {
  const each = (make) => FACTS.variants.map(({ name, color, dash }, n) => make(name, n, `style="--color:${color}"`, dash ? "dashed" : "")).join("");
  const slider = (name, label, min, max) => `<div class="field" data-is="${name}-box"><label for="${id}-${name}" data-is="${name}-name">${label}</label>
    <input type="range" id="${id}-${name}" data-is="${name}" min="${min}" max="${max}"><output data-is="${name}-value"></output></div>`;
  const bet = (when) => `<fieldset><legend data-is="${when}-name"></legend><div class="choices">${each((name, n, style) =>
    `<label ${style}><input type="radio" name="${id}-${when}" value="${n}"><span>${name}</span>${when === "early" ? `<small data-is="bet-rule-${n}"></small>` : ""}</label>`)}</div></fieldset>`;
  const gate = (name, n, style) => `<div class="gate" ${style}><div class="head"><i></i><b>${name}</b><span class="rule" data-is="rule-${n}"></span>
    <span class="count" data-is="count-${n}"></span><span class="place" data-is="place-${n}"></span></div><canvas role="img"></canvas></div>`;
  const measured = (name, n, before = "") => `<td>${before}<b data-is="${name}-${n}"></b> <span class="theory" data-is="${name}-theory-${n}"></span></td>`;
  const row = (name, n, style, dashed) => `<tr ${style}><th scope="row"><i class="${dashed}"></i>${name}</th>${measured("pace", n)}${measured("stale", n)}
    ${measured("used", n, `<span class="shares" role="img" data-is="shares-${n}">${FATES.map((fate) => `<i data-is="${fate}-${n}" data-fate="${fate}"></i>`).join("")}</span>`)}
    <td data-is="wins-${n}"></td></tr>`;
  const law = ({ name, label }) => `<label><input type="radio" name="${id}-law" value="${name}"><canvas data-law="${name}" aria-hidden="true"></canvas><span>${label}</span></label>`;
  const speeds = SPEEDS.map((speed) => `<option value="${speed}"${speed === 1 ? " selected" : ""}>${{ 0.25: "¼", 0.5: "½" }[speed] ?? speed}×</option>`).join("");
  return `<div class="race" data-is="race" role="group" aria-label="Race of four protocols">
  <div class="stories" role="group" aria-label="Stories">${FACTS.stories.map(({ name }, n) => `<button type="button" data-is="story-${n}">${name}</button>`).join("")}</div>
  <p class="lesson" data-is="lesson"></p>
  <p class="said" data-is="said" role="alert" hidden></p>
  <div class="transport">
    <button type="button" class="main" data-is="play"></button>
    <button type="button" data-is="restart" aria-label="Back to the start">↺</button>
    <span class="clock"><b data-is="clock"></b> of <span data-is="end"></span></span>
    <label class="time"><span class="unseen">Time</span><input type="range" data-is="time" min="0" step="any"></label>
    <label><span class="unseen">Speed</span><select data-is="speed">${speeds}</select></label>
  </div>
  <div class="stage" data-is="stage">
    <div class="score"><p class="story" data-is="story"></p><div class="bets" data-is="bets">${bet("early")}${bet("late")}</div>
      <canvas class="chart" data-is="chart" role="img"></canvas></div>
    <div class="gates">${each(gate)}<canvas class="axis" data-is="axis" aria-hidden="true"></canvas>
      <ul class="legend" aria-label="Colors of work">${[FRESH, STALE, "cancelled", "idle"].map((fate) => `<li><i data-fate="${fate}"></i>${fate}</li>`).join("")}
      <li><i class="dot" data-fate="${FRESH}"></i>running: its distance is the time it still needs</li></ul></div>
  </div>
  <div class="settings">
    <div>${slider("P", "learners <i>P</i>", 2, FACTS.most_learners)}${slider("K", "per update <i>K</i>", 1, 8)}${slider("eta", "learning rate <i>η</i>", 0, RATES.length - 1)}${slider("parameter", "", 0, 1)}</div>
    <fieldset><legend>A mini-batch takes 1 on average. How does it vary?</legend><div class="laws">${FACTS.laws.map(law).join("")}</div></fieldset>
    <div class="pasted" data-is="pasted"><label for="${id}-times">Your step times, in any unit: one column, or a table with names</label>
      <textarea id="${id}-times" data-is="times" rows="3" spellcheck="false" aria-describedby="${id}-note"></textarea>
      <label data-is="column-box">Column <select data-is="column"></select></label><p class="note" id="${id}-note" data-is="times-note" role="status"></p></div>
    <div class="actions"><button type="button" data-is="luck">New luck</button><button type="button" data-is="many"><span data-is="many-words">Race ${MANY} times</span></button>
      ${linked ? '<button type="button" data-is="link">Copy link</button>' : ""}</div>
    <p class="sure" data-is="sure" role="status"></p>
  </div>
  <div class="scroll" tabindex="0" role="group" aria-label="Measured and theory"><table>
    <thead><tr><td></td>${["time per update", "staleness", "work used"].map((name) => `<th scope="col"><b>${name}</b> <span class="theory">theory</span></th>`).join("")}
      <th scope="col" data-is="wins-name"></th></tr></thead>
    <tbody>${each(row)}</tbody></table></div>
  <p class="unseen" role="status" data-is="status"></p>
</div>`;
}

// A setting as Python tells it: its step times are a list, a reader's are a text.
const told = ({ times = [], ...rest }) => ({ ...rest, times: times.join("\n") });

// On a plain page: every element with data-race, whose content is what readers without scripts see.
function mountAll() {
  for (const host of document.querySelectorAll("[data-race]:not([data-mounted])")) {
    const found = fromLink(location.hash);
    mount(host, found ? { wish: found.setting, t: found.t, said: found.said } : { wish: told(JSON.parse(host.dataset.race || "{}")) });
  }
}

// In a notebook: the traits of a widget follow the reader, and the race follows whoever sets them.
const TRAITS = { P: "P", K: "K", law: "law", parameter: "parameter", eta: "learning_rate", seed: "seed" };

function render({ model, el }) {
  let telling = false;
  const wish = () => told({ ...Object.fromEntries(Object.entries(TRAITS).map(([name, trait]) => [name, model.get(trait) ?? undefined])), times: model.get("times") });
  // The kernel has one column of what the reader pasted: only other times than these take the table's place.
  const known = (times) => `${times}` === `${race.setting.times ? timesOf(race.setting) : []}`;
  const follow = () => {
    const { times, ...rest } = wish();
    if (!telling) race.set(known(model.get("times")) ? rest : { ...rest, times, column: "" }, "notebook");
  };
  const onchange = (setting, from) => {
    if (from === "notebook") return;
    telling = true;
    for (const [name, trait] of Object.entries(TRAITS)) model.set(trait, setting[name]);
    model.set("times", setting.times ? timesOf(setting) : []);
    telling = false;
    model.save_changes();
  };
  const race = mount(el, { wish: wish(), linked: false, onchange });
  model.on("change", follow);
  return () => { model.off("change", follow); race.destroy(); };
}
