// Asked on standard input, answers on standard output: what the engine makes of the cases that Python wrote, and which
// of its mutants answer otherwise. One process for all, because to start Node.js takes longer than to race.
const { isDeepStrictEqual } = require("node:util");

const { source, mutants, cases } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const NAMES = ["run", "VirtualClock", "uniform", "Luck", "LAWS", "runtimeBounds", "meanStaleness", "usedShareBounds",
  "Quadratic", "racing", "finished", "cameBy", "sharesOfWork"];
const engineOf = (text) => new Function(`"use strict";\n${text}\nreturn { ${NAMES.join(", ")} };`)();

// Times that were written down, null for one that never ends. Who asks for more has left the track.
function reader(streams) {
  const at = streams.map(() => 0);
  return (learner) => {
    if (at[learner] === streams[learner].length) throw new Error(`learner ${learner} started too often`);
    return streams[learner][at[learner]++] ?? Infinity;
  };
}

function take(generator, n) {
  const taken = [];
  for (const item of generator) if (taken.push(item) === n) return taken;
}

const ANSWERS = {
  races: ({ run, VirtualClock }, { variant, P, K, updates, streams, dead }) => {
    let asked = 0;
    const clock = new VirtualClock(P, reader(streams), () => (dead[asked++] ? null : 0));
    const made = take(run(variant, P, K, clock), updates);
    return {
      asked,
      updates: made.map(({ time, pushes }) => [time, pushes.map((push) => [push.learner, push.version, push.time])]),
      jobs: clock.jobs.map((mine) => mine.map(({ version, start, end, fate }) => [version, start, end, fate])),
    };
  },
  trainings: ({ run, VirtualClock, Quadratic }, { variant, P, K, eta, streams, noises, problem }) => {
    const quadratic = new Quadratic(problem), noise = noises.values();
    const clock = new VirtualClock(P, reader(streams), (w) => w);
    const step = (w, pushes) => quadratic.step(w, pushes, eta, noise.next().value);
    return take(run(variant, P, K, clock, quadratic.start, step), noises.length).map(({ w }) => quadratic.loss(w));
  },
  laws: ({ LAWS }, { name, given, at }) => {
    const { ageing, fromExponential } = LAWS[name](given);
    return { ageing, times: at.map(fromExponential) };
  },
  theory: ({ LAWS, runtimeBounds, meanStaleness, usedShareBounds }, { name, given, variant, P, K }) => {
    const law = LAWS[name](given);
    return [...runtimeBounds(variant, P, K, law), meanStaleness(variant, P, K), ...usedShareBounds(variant, P, K, law)];
  },
  fresh: ({ Quadratic }, { problem, K, eta, updates }) => updates.map((j) => new Quadratic(problem).freshLoss(j, K, eta)),
  // Whole races, as a page runs them.
  pages: ({ LAWS, Luck, Quadratic, racing, finished, cameBy, sharesOfWork }, { variant, law, given, problem, seed, moments, ...setting }) => {
    const quadratic = new Quadratic(problem), luck = new Luck(seed, quadratic.dimension);
    const race = finished(racing(variant, { ...setting, law: LAWS[law](given), problem: quadratic, luck }));
    return {
      time: race.time, loss: race.loss, stale: race.stale,
      versions: moments.map((t) => cameBy(race.time, t) - 1),
      shares: moments.map((t) => sharesOfWork(race, t)),
      hazards: race.jobs.map((mine, learner) => mine.map((_, n) => luck.hazard(learner, n))),
      noises: race.time.slice(1).map((_, j) => [...luck.noise(j)]),
    };
  },
  stuck: (engine, one) => ANSWERS.races(engine, one),
  draws: ({ uniform }, { seed, stream, count }) => Array.from({ length: count }, (_, n) => uniform(seed, stream, n)),
};

const attempt = (engine, kind, one) => {
  try { return ANSWERS[kind](engine, one); } catch (error) { return { error: error.message }; }
};
const right = engineOf(source), answers = {};
for (const kind in cases) answers[kind] = cases[kind].map((one) => attempt(right, kind, one));

// Whether each mutant answers otherwise, at least once, in the kind of cases that should notice it. In another kind it
// might race for ever.
const noticed = mutants.map(([text, kind]) => {
  const engine = engineOf(text);
  return cases[kind].some((one, n) => !isDeepStrictEqual(attempt(engine, kind, one), answers[kind][n]));
});
process.stdout.write(JSON.stringify({ answers, noticed }));
