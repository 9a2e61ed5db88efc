// What a reader can choose, the race that follows from it, and what is said of it. Knows FACTS, the knowledge that
// sgdrace.live hands over, and race.js; nothing of the page.

const LAW = Object.fromEntries(FACTS.laws.map((law) => [law.name, law]));
const NAMES = FACTS.variants.map(({ name }) => name);
const PROBLEM = new Quadratic(FACTS.problem);
const MOST_TIMES = 5000, TIMES_IN_A_LINK = 200, MOST_UPDATES = 1500, MANY = 100;

// ---- Settings -------------------------------------------------------------------------------------------------------

// Whatever came from a link, a notebook or a slider, made a setting that can race, and a sentence for each thing that
// could not be followed.
function settingOf(wish) {
  const said = [], setting = { ...FACTS.first };
  const number = (name, low, high, fallback, whole = true) => {
    const given = wish[name], value = typeof given === "string" && given.trim() === "" ? NaN : Number(given ?? NaN);
    if (given === undefined || given === null) return fallback;
    if (value >= low && value <= high && (!whole || Number.isInteger(value))) return value;
    said.push(`${name} must be a ${whole ? "whole " : ""}number between ${low} and ${high}; “${given}” is not, so it is ${fallback}.`);
    return fallback;
  };
  if (wish.law !== undefined && !(wish.law in LAW)) said.push(`There is no law “${wish.law}”, so delays are ${LAW[setting.law].label}.`);
  else setting.law = wish.law ?? setting.law;
  setting.P = number("P", 2, FACTS.most_learners, FACTS.first.P);
  setting.K = number("K", 1, setting.P, Math.min(FACTS.first.K, setting.P));
  setting.eta = number("eta", ...FACTS.learning_rates, FACTS.first.eta, false);
  setting.seed = number("seed", 0, 2 ** 31, FACTS.first.seed);
  const { parameter } = LAW[setting.law];
  setting.parameter = parameter && number("parameter", parameter.low, parameter.high, parameter.first, false);
  setting.times = wish.times ?? "";
  setting.column = wish.column ?? "";
  if (setting.law === "pasted" && setting.times) {
    const { problem } = readTimes(setting.times, setting.column);
    if (problem) said.push(problem);
  }
  return { setting, said };
}

function linkOf(setting, t = 0) {
  const { P, K, law, parameter, eta, seed } = setting, words = { P, K, law, parameter, eta, seed };
  if (parameter === null) delete words.parameter;
  if (law === "pasted") words.times = timesOf(setting).slice(0, TIMES_IN_A_LINK).map((time) => +time.toPrecision(3)).join("_");
  if (t > 0) words.t = +t.toFixed(2);
  return `#race?${new URLSearchParams(words)}`;
}

// The setting and the moment of a link; null for a link to something else.
function fromLink(hash) {
  if (!hash.startsWith("#race")) return null;
  const { t, times, ...words } = Object.fromEntries(new URLSearchParams(hash.replace(/^#race\??/, "")));
  const { setting, said } = settingOf({ ...words, times: times?.replaceAll("_", "\n") });
  const at = Number(t ?? 0);
  if (!(at >= 0)) said.push(`t must be a time of at least 0; “${t}” is not, so the race starts at 0.`);
  return { setting, said, t: at >= 0 ? at : 0 };
}

// ---- Pasted step times ----------------------------------------------------------------------------------------------

// One column of what people paste: a list in one line, one column, or a table whose first line names its columns. What
// could be read in two ways is answered by a sentence, never guessed.
function readTimes(text, column = "") {
  const lines = text.split(/\r?\n/).map((line, n) => ({ n: n + 1, cells: cellsOf(line) })).filter(({ cells }) => cells.some(Boolean));
  if (!lines.length) return { times: [], columns: [], problem: "Paste at least two step times." };
  const [first, ...rest] = lines, width = first.cells.length;
  const named = first.cells.every((cell) => !/^\W*\d/.test(cell)), columns = named && width > 1 ? first.cells : [];
  const failed = (problem) => ({ times: [], columns, problem });
  if (width > 1 && !named && rest.length) {
    return failed(`Line ${first.n} has ${width} cells: add a line of names above, so that you can choose a column, or paste one column.`);
  }
  const index = Math.max(0, columns.indexOf(column)), times = [];
  const cells = width > 1 && !named ? first.cells.map((cell) => ({ n: first.n, cell }))
    : (named ? rest : lines).map(({ n, cells }) => ({ n, cell: cells[index], count: cells.length }));
  for (const { n, cell, count = width } of cells) {
    if (count !== width) return failed(`Line ${n} has ${count} cells where the first line has ${width}.`);
    const time = /^[+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(cell) ? Number(cell) : NaN;
    if (!(time > 0 && time < Infinity)) return failed(`Line ${n} holds “${cell}”, which is no positive time written like 1.5.`);
    times.push(time);
  }
  if (times.length < 2) return failed("Paste at least two step times.");
  return { times: times.slice(0, MOST_TIMES), columns, problem: "" };
}

const cellsOf = (line) => {
  const separator = [/\t/, /;/, /,/].find((one) => one.test(line)) ?? /\s+/;
  return line.trim().split(separator).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));
};

// The times of a setting; the sample where there are none that can be read.
function timesOf({ times, column }) {
  const read = readTimes(times, column).times;
  return read.length ? read : FACTS.sample;
}

// ---- The race -------------------------------------------------------------------------------------------------------

// All that a setting determines: four races with the same luck, and how long they last.
function fourRaces(setting, luck = luckOf(setting.seed)) { return finished(racingFour(setting, luck)); }

function* racingFour(setting, luck) {
  const { P, K, eta } = setting, law = lawOf(setting);
  const pace = Math.min(K / P, law.orderMean(K, P) / 2); // of the fastest, roughly: nobody waits for many thousand updates
  const until = +Math.min(clamp(Math.round((200 * K) / P), 6, 60), MOST_UPDATES * pace).toPrecision(2);
  const runners = [];
  for (const variant of NAMES) runners.push(yield* racing(variant, { P, K, law, eta, until, luck, problem: PROBLEM }));
  return { P, K, eta, until, early: +(until / 10).toPrecision(2), runners, floor: PROBLEM.freshLoss(Infinity, K, eta) };
}

// The law of a setting, once for all P and K: of many pasted times it takes long to know how they age.
let latest = {};
function lawOf(setting) {
  const { law, parameter, times, column } = setting, asked = JSON.stringify([law, parameter, times, column]);
  if (latest.asked !== asked) latest = { asked, law: LAWS[law](law === "pasted" ? timesOf(setting) : parameter) };
  return latest.law;
}

// What theory says of each of the four: bounds of the time per update and of the used share of work, and the staleness.
function theoryOf(setting) {
  const { P, K } = setting, law = lawOf(setting);
  return NAMES.map((variant) => ({
    pace: runtimeBounds(variant, P, K, law),
    staleness: meanStaleness(variant, P, K),
    used: usedShareBounds(variant, P, K, law),
  }));
}

const luckOf = (seed) => new Luck(seed, PROBLEM.dimension);
const versionAt = (runner, t) => cameBy(runner.time, t) - 1;
const lossAt = (runner, t) => runner.loss[versionAt(runner, t)];

// Who has the lowest loss at t, by number; several if they are level.
function leaders({ runners }, t) {
  const losses = runners.map((runner) => lossAt(runner, t)), best = Math.min(...losses);
  return NAMES.map((_, n) => n).filter((n) => losses[n] === best);
}

// Since when the pair, synchronous or asynchronous, that leads at the end has led; 0 if always.
function inFrontSince(race) {
  const pairs = (t) => new Set(leaders(race, t).map((n) => NAMES[n].endsWith("-sync")));
  const times = race.runners.flatMap(({ time }) => time.slice(1)).filter((time) => time <= race.until).sort((a, b) => b - a);
  const [winner, level] = pairs(race.until);
  if (level !== undefined) return { time: race.until, pair: null };
  let since = race.until;
  for (const time of times) {
    if (!pairs(time).has(winner)) return { time: since, pair: winner ? "synchronous" : "asynchronous" };
    since = time;
  }
  return { time: 0, pair: winner ? "synchronous" : "asynchronous" };
}

// Who wins how many of MANY races with other luck. It can be left at every update; what it yields says how many are done.
function* racingMany(setting) {
  const count = noWins();
  for (let n = 0; n < MANY; n++) {
    const work = racingFour(setting, luckOf(mixed(setting.seed + 1) ^ n));
    let step;
    while (!(step = work.next()).done) yield n;
    countWins(count, step.value);
  }
  return count;
}

const noWins = () => ({ early: [0, 0, 0, 0], late: [0, 0, 0, 0] });

// Who is level shares the win.
function countWins(count, race) {
  for (const [when, t] of [["early", race.early], ["late", race.until]]) {
    const level = leaders(race, t);
    for (const n of level) count[when][n] += 1 / level.length;
  }
}

// ---- Words ----------------------------------------------------------------------------------------------------------

const and = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);
const named = (numbers) => and(numbers.map((n) => NAMES[n]));
const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
const shown = (value) => (!Number.isFinite(value) ? "∞" : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1)
  : value >= 1 ? value.toFixed(2) : value === 0 ? "0" : value >= 0.01 ? value.toFixed(3) : value.toPrecision(2));

const percent = (share) => `${Math.round(100 * share)}\u00a0%`;
const between = ([low, high], words) => (high - low <= 1e-9 * low ? words(low) : `${words(low)} to ${words(high)}`);

// Who leads now, in a sentence.
function lead(race, t) {
  const ahead = leaders(race, t), over = t >= race.until;
  if (ahead.length === 4) return "All four are level: they share their luck.";
  if (ahead.length > 1) return `${named(ahead)} ${over ? "share the win" : "lead together"}.`;
  const others = race.runners.map((runner, n) => ({ n, loss: lossAt(runner, t) })).filter(({ n }) => n !== ahead[0]);
  const second = others.reduce((best, one) => (one.loss < best.loss ? one : best));
  const margin = Math.round(100 * (1 - lossAt(race.runners[ahead[0]], t) / second.loss));
  const by = margin >= 1 ? `its loss ${margin}\u00a0% below that of ${NAMES[second.n]}` : `by a hair before ${NAMES[second.n]}`;
  return `${named(ahead)} ${over ? "wins" : "leads"}, ${by}.`;
}

// What came of the bets, {early, late} by number, and when the lead passed from one pair to the other, in a sentence.
function verdict(race, bets) {
  const words = [["early", race.early, "led"], ["late", race.until, "won"]].map(([when, t, did]) => {
    const ahead = leaders(race, t), bet = bets[when];
    const result = `${named(ahead)} ${did} at ${t}`;
    if (bet === undefined) return result;
    return ahead.includes(bet) ? `${result}, as you bet` : `${result} (you bet on ${NAMES[bet]})`;
  });
  const { time, pair } = inFrontSince(race);
  if (pair) words.push(time ? `the ${pair} pair took the lead for good at ${time.toFixed(1)}` : `the ${pair} pair led all the way`);
  return `${words.join("; ")}.`;
}

// The whole race at a moment, for who does not see it.
function describe(race, t) {
  const field = race.runners.map((runner) => ({ name: runner.variant, j: versionAt(runner, t), loss: lossAt(runner, t) }));
  field.sort((a, b) => a.loss - b.loss);
  return `Time ${t.toFixed(1)} of ${race.until}. ${field.map(({ name, j, loss }) => `${name}: loss ${shown(loss)} after ${plural(j, "update")}`).join("; ")}.`;
}

// What became of the learners' time, in words.
function describeWork(runner, t) {
  const shares = Object.entries(t > 0 ? sharesOfWork(runner, t) : {}).filter(([, share]) => share >= 0.005);
  const words = shares.map(([fate, share]) => `${Math.round(100 * share)} % ${fate}`);
  return `${runner.variant}: of the time of ${plural(runner.P, "learner")}, ${words.length ? and(words) : "none has passed"}.`;
}

// How sure a result is.
function sure({ early, late }, race) {
  const most = (counts) => { const n = counts.indexOf(Math.max(...counts)); return `${NAMES[n]} most often (${Math.round(counts[n])})`; };
  const hares = ([, , a, b]) => Math.round(a + b);
  return `In ${MANY} races with other luck an asynchronous protocol led at ${race.early} in ${hares(early)} and won at ${race.until} in ${hares(late)}; at the end ${most(late)}.`;
}
