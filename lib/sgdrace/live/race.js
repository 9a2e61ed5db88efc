// The race itself: the four variants as one event loop, machines on a virtual clock, SGD with old gradients, and what
// theory says of them. Knows nothing of pages. It is sgdrace.protocol in the reader's browser: tests/live holds the two
// to the same events, and the laws, losses and bounds to those of the package.

// ---- The variants ---------------------------------------------------------------------------------------------------

// Run one variant, update after update: `step` turns w_j and K pushes into w_{j+1}. An engine has three verbs:
// `start` a mini-batch (which cancels whatever that learner is doing), wait for the `next` push, and tell what time it
// is `now`.
function* run(variant, P, K, engine, w = null, step = (w) => w) {
  const sync = variant.endsWith("-sync"), batch = variant.includes("batch");
  const everybody = Array.from({ length: P }, (_, learner) => learner);
  for (const learner of everybody) engine.start(learner, 0, w);
  // Update j turns w_j into w_{j+1}.
  for (let j = 0; ; j++) {
    const pushes = [], waiting = [];
    while (pushes.length < K) {
      const push = engine.next();
      // One died; another took its place.
      if (push.gradient === null) engine.start(push.learner, j, w);
      // No echo of a cancelled mini-batch.
      else if (!sync || push.version === j) {
        pushes.push(push);
        if (batch && pushes.length < K) engine.start(push.learner, j, w);
        else waiting.push(push.learner);
      }
    }
    w = step(w, pushes);
    const update = { time: engine.now(), pushes, w };
    // A start cancels what still runs there.
    for (const learner of sync ? everybody : waiting) engine.start(learner, j + 1, w);
    yield update;
  }
}

// An engine whose machines are simulated: `draw(learner)` says how long its next mini-batch takes, for ever if it dies.
// It remembers every job: one mini-batch on one learner, and what became of it.
class VirtualClock {
  constructor(P, draw, gradient = () => 0) {
    this.draw = draw;
    this.gradient = gradient;
    this.clock = 0;
    this.version = 0; // the newest that somebody has pulled
    this.jobs = Array.from({ length: P }, () => []); // by learner, in their order
    this.running = new Array(P).fill(null);
    this.due = new Float64Array(P).fill(Infinity); // when each learner will push
  }

  start(learner, version, w) {
    const old = this.running[learner], start = this.clock, due = start + this.draw(learner);
    if (old) { old.end = start; old.fate = "cancelled"; }
    const job = { version, start, due, end: Infinity, fate: "running", w };
    this.version = Math.max(this.version, version);
    this.jobs[learner].push(job);
    this.running[learner] = job;
    this.due[learner] = due;
  }

  next() {
    const { due } = this;
    let learner = 0; // a look at all of them; ties go to the smaller learner
    for (let other = 1; other < due.length; other++) if (due[other] < due[learner]) learner = other;
    if (due[learner] === Infinity) throw new Error("nobody is at work, so that there is no next push.");
    const job = this.running[learner], gradient = this.gradient(job.w), time = (this.clock = job.due);
    due[learner] = Infinity;
    // Who died leaves a job that the next start cancels.
    if (gradient !== null) {
      job.end = time;
      job.fate = job.version === this.version ? "used fresh" : "used stale";
      this.running[learner] = null;
    }
    return { learner, version: job.version, time, gradient };
  }

  now() { return this.clock; }
}

// ---- Luck -----------------------------------------------------------------------------------------------------------

// A number between 0 and 1, never either of them, that depends on these three whole numbers and on nothing else.
function uniform(seed, stream, n) {
  return (mixed(mixed(mixed(seed) ^ stream) ^ n) + 0.5) / 2 ** 32;
}

// Every bit of the result depends on every bit of the word.
function mixed(word) {
  let h = (word + 0x9e3779b9) | 0;
  h = Math.imul(h ^ (h >>> 16), 0x21f0aaad);
  h = Math.imul(h ^ (h >>> 15), 0x735a2d97);
  return (h ^ (h >>> 15)) >>> 0;
}

// Common random numbers: the n-th mini-batch of learner i has the same luck, and update j the same noise, whatever the
// variant, P, K and law. So a slider moves a race and does not draw a new one.
class Luck {
  constructor(seed, dimension) {
    Object.assign(this, { seed, dimension, noises: [] });
  }

  // How much cumulative hazard a mini-batch survives: a standard exponential variable.
  hazard(learner, n) { return -Math.log(uniform(this.seed, learner, n)); }

  // A function that gives each learner the time of its next mini-batch.
  reader(law) {
    const started = [];
    return (learner) => law.fromExponential(this.hazard(learner, (started[learner] = (started[learner] ?? -1) + 1)));
  }

  // Standard normal noise of update j in every direction, by Box and Muller.
  noise(j) {
    const { seed, dimension, noises } = this;
    while (noises.length <= j) {
      const made = new Float64Array(dimension), stream = -1 - noises.length; // learners have the streams from 0 on
      for (let i = 0; i < dimension; i += 2) {
        const radius = Math.sqrt(-2 * Math.log(uniform(seed, stream, i))), angle = 2 * Math.PI * uniform(seed, stream, i + 1);
        made[i] = radius * Math.cos(angle);
        if (i + 1 < dimension) made[i + 1] = radius * Math.sin(angle);
      }
      noises.push(made);
    }
    return noises[j];
  }
}

// ---- Laws of the time X of one mini-batch, all with mean 1 ----------------------------------------------------------

// A law has `fromExponential`, the increasing map that turns a standard exponential variable into X; `orderMean(K, P)`,
// the mean of the K-th smallest of P times; and its `ageing`, as in sgdrace.delays.
const LAWS = {
  constant: () => LAWS.pasted([1]),
  shifted: (fixed) => ({
    ageing: "NLTU",
    fromExponential: (e) => fixed + (1 - fixed) * e,
    orderMean: (K, P) => fixed + (1 - fixed) * harmonic(K, P),
  }),
  exponential: () => ({ ageing: "both", fromExponential: (e) => e, orderMean: harmonic }),
  lognormal: (sigma) => {
    const fromExponential = (e) => Math.exp(sigma * normalFromExponential(e) - sigma ** 2 / 2);
    return { ageing: "neither", fromExponential, orderMean: smoothOrderMean(fromExponential) };
  },
  pareto: (shape) => ({
    ageing: "neither",
    fromExponential: (e) => (1 - 1 / shape) * Math.exp(e / shape),
    orderMean: (K, P) => (1 - 1 / shape) * paretoFactor(shape, K, P),
  }),
  lomax: (shape) => ({
    ageing: "NSTU",
    fromExponential: (e) => (shape - 1) * Math.expm1(e / shape),
    orderMean: (K, P) => (shape - 1) * (paretoFactor(shape, K, P) - 1),
  }),
  // Measured times, each equally likely, scaled to mean 1.
  pasted: (times) => {
    const n = times.length, mean = times.reduce((sum, time) => sum + time, 0) / n;
    const sorted = times.map((time) => time / mean).sort((a, b) => a - b);
    const share = (e) => Math.ceil(-Math.expm1(-e) * n * (1 - 1e-15)) - 1; // the guard against rounding as in Python
    let ageing;
    return {
      get ageing() { return (ageing ??= ageingOf(sorted)); }, // takes long, and no race needs it
      constant: sorted[0] === sorted[n - 1],
      fromExponential: (e) => sorted[clamp(share(e), 0, n - 1)],
      orderMean: (K, P) => {
        let sum = 0, before = 0;
        for (let i = 0; i < n; i++) {
          const done = atLeast(K, P, (i + 1) / n);
          sum += sorted[i] * (done - before);
          before = done;
        }
        return sum;
      },
    };
  },
};

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

// Σ 1/r over the ranks r = P-K+1, ..., P: exponential times.
function harmonic(K, P) {
  let sum = 0;
  for (let rank = P - K + 1; rank <= P; rank++) sum += 1 / rank;
  return sum;
}

// E[X_{K:P}] of Pareto times with least time 1; infinite where the tail is too heavy.
function paretoFactor(shape, K, P) {
  if ((P - K + 1) * shape <= 1) return Infinity;
  let product = 1;
  for (let rank = P - K + 1; rank <= P; rank++) product /= 1 - 1 / (shape * rank);
  return product;
}

// Pr(at least K of P are done) when each of them is with probability q.
function atLeast(K, P, q) {
  if (q >= 1) return 1;
  let exactly = (1 - q) ** P, fewer = 0;
  for (let n = 0; n < K; n++) {
    fewer += exactly;
    exactly *= ((P - n) / (n + 1)) * (q / (1 - q));
  }
  return 1 - fewer;
}

// E[X_{K:P}] by the trapezoidal rule in z, the logit of the share of learners that are done. There the density of the
// K-th smallest is smooth and falls exponentially on both sides.
function smoothOrderMean(fromExponential) {
  const fine = 32, times = {}; // steps of z to a unit; X at each of them, which many K and P ask for
  const timeAt = (n) => (times[n] ??= fromExponential(Math.log1p(Math.exp(n / fine))));
  return (K, P) => {
    const logDensity = (z) => -K * Math.log1p(Math.exp(-z)) - (P - K + 1) * Math.log1p(Math.exp(z));
    const peak = Math.log(K / (P - K + 1)), middle = Math.round(peak * fine), highest = logDensity(peak);
    let sum = 0, mass = 0;
    for (const [first, way] of [[middle, -1], [middle + 1, 1]]) {
      for (let n = first, log; (log = logDensity(n / fine) - highest) > -80; n += way) { // of weight, even where X is huge
        mass += Math.exp(log);
        sum += Math.exp(log) * timeAt(n);
      }
    }
    return sum / mass;
  };
}

// A bounded law is NLTU if Pr(X > u + t) <= Pr(X > u) Pr(X > t) for all u and t, which sums of two times decide.
function ageingOf(sorted) {
  const n = sorted.length, times = [0, ...new Set(sorted)].filter((time, i) => time > 0 || i === 0);
  if (times.length > 5000) return "neither"; // quadratic work
  const above = (time, from) => { while (from < n && sorted[from] <= time) from++; return from; };
  const alive = [];
  for (let i = 0, at = 0; i < times.length; i++) alive.push(1 - (at = above(times[i], at)) / n);
  for (let t = times.length - 1; t >= 0; t--) {
    for (let u = 0, at = 0; u < times.length; u++) {
      at = above(times[u] + times[t], at);
      if (1 - at / n > alive[u] * alive[t] * (1 + 1e-12)) return "neither";
    }
  }
  return "NLTU";
}

// The standard normal variable that survives the cumulative hazard e. Newton's method for the logarithm of the smaller
// tail, which is concave, from an approximation that is right to three digits.
function normalFromExponential(e) {
  const late = e > Math.LN2, log = late ? -e : Math.log(-Math.expm1(-e)), t = Math.sqrt(-2 * log);
  let z = (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t) - t;
  for (let n = 0; n < 4; n++) {
    const below = normalBelow(z);
    z -= ((Math.log(below) - log) * below * Math.sqrt(2 * Math.PI)) / Math.exp((-z * z) / 2);
  }
  return late ? -z : z;
}

// Pr(Z <= z) of a standard normal Z: a series near 0, a continued fraction far below.
function normalBelow(z) {
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
  if (z > -2) {
    let term = z, sum = z;
    for (let k = 1; Math.abs(term) > 1e-17 * Math.abs(sum); k++) sum += term *= (z * z) / (2 * k + 1);
    return 0.5 + sum * density;
  }
  let fraction = 0;
  for (let k = 80; k > 0; k--) fraction = k / (fraction - z);
  return density / (fraction - z);
}

// ---- Theory ---------------------------------------------------------------------------------------------------------

// Bounds of E[T], the long-run mean time per update, proven for the law's ageing; equal where E[T] is known.
function runtimeBounds(variant, P, K, law) {
  const { ageing, constant } = law, renewal = K / P, waited = (k, p) => law.orderMean(k, p);
  const exactly = (value) => [value, value];
  if (variant === "K-sync") return exactly(waited(K, P));
  if (variant === "K-batch-async") return exactly(renewal);
  if (variant === "K-async") {
    if (constant) return exactly(1 / Math.floor(P / K));
    if (K === 1) return exactly(renewal);
    if (K === P || ageing === "both") return exactly(waited(K, P));
    if (ageing === "NLTU") return [renewal, waited(K, P)];
    return [ageing === "NSTU" ? Math.max(renewal, waited(K, P)) : renewal, waited(K, K)];
  }
  if (constant) return exactly(Math.ceil(K / P));
  if (K === 1) return exactly(waited(1, P));
  if (P === 1 || ageing === "both") return exactly(renewal);
  const high = Math.min((K + P - 1) / P, K <= P ? waited(K, P) : Infinity);
  if (ageing === "NLTU") return [Math.max(waited(1, P), renewal), high];
  return [waited(1, P), ageing === "NSTU" ? Math.min(high, renewal) : high];
}

// The long-run mean staleness, whatever the law.
function meanStaleness(variant, P, K) {
  return { "K-async": (P - K) / K, "K-batch-async": (P - 1) / K }[variant] ?? 0;
}

// Bounds of the long-run share of the learners' time that goes into gradients that are used; equal where it is known.
function usedShareBounds(variant, P, K, law) {
  const exactly = (value) => [value, value];
  if (variant === "K-sync") { // the K shortest of P
    let shortest = 0;
    for (let k = 1; k <= K; k++) shortest += law.orderMean(k, P);
    return exactly(shortest / (P * law.orderMean(K, P)));
  }
  if (variant === "K-batch-sync" && law.ageing === "both") return exactly(1 - ((P - 1) / K) * (1 - (1 - 1 / P) ** K));
  if (variant === "K-batch-sync" && !law.constant) return [1 / P, Math.min(1, K / P)];
  const [fast, slow] = runtimeBounds(variant, P, K, law); // of K mini-batches that are used
  return [K / (P * slow), K / (P * fast)];
}

// ---- What is learned ------------------------------------------------------------------------------------------------

// F(w) = ½ Σ λ_i w_i² with Gaussian noise of total variance sigma2 in each gradient.
class Quadratic {
  constructor({ eigenvalues, sigma2, start }) {
    this.eigenvalues = Float64Array.from(eigenvalues);
    this.dimension = eigenvalues.length;
    this.start = new Float64Array(this.dimension).fill(start);
    this.variance = sigma2 / this.dimension; // of one gradient in one direction
  }

  loss(w) { return this.eigenvalues.reduce((sum, curvature, i) => sum + (curvature * w[i] ** 2) / 2, 0); }

  // One step with K gradients, each at the weights `gradient` that its learner had pulled. Their noise does not depend
  // on the weights, so that it is drawn once for their mean.
  step(w, pushes, eta, noise) {
    const K = pushes.length, sd = Math.sqrt(this.variance / K);
    return w.map((here, i) => {
      let pulled = 0;
      for (const push of pushes) pulled += push.gradient[i];
      return here - eta * ((this.eigenvalues[i] * pulled) / K + sd * noise[i]);
    });
  }

  // E F(w_j) when K fresh gradients are averaged; for infinitely many updates the floor.
  freshLoss(updates, K, eta) {
    return this.eigenvalues.reduce((sum, curvature, i) => {
      const shrink = (1 - eta * curvature) ** 2, kept = shrink ** updates;
      const floor = shrink < 1 ? (eta ** 2 * this.variance) / K / (1 - shrink) : Infinity;
      return sum + (curvature / 2) * (this.start[i] ** 2 * kept + floor * (1 - kept));
    }, 0);
  }
}

// ---- One race -------------------------------------------------------------------------------------------------------

// A variant from time 0 to its first update after `until`. Entry j of `time`, `loss`, `stale` and `pushes` belongs to
// version j of the model: when it came, its loss, the staleness of all gradients up to it added up, and what made it.
// Who has something else to do meanwhile can take it update by update.
function* racing(variant, { P, K, law, eta, until, luck, problem }) {
  const clock = new VirtualClock(P, luck.reader(law), (w) => w);
  const race = { variant, P, K, jobs: clock.jobs, time: [0], loss: [problem.loss(problem.start)], stale: [0], pushes: [[]] };
  const step = (w, pushes) => problem.step(w, pushes, eta, luck.noise(race.time.length - 1));
  for (const { time, pushes, w } of run(variant, P, K, clock, problem.start, step)) {
    const j = race.time.length - 1; // the version that the update turned into the next one
    race.stale.push(pushes.reduce((sum, push) => sum + j - push.version, race.stale[j]));
    race.time.push(time);
    race.loss.push(problem.loss(w));
    race.pushes.push(pushes);
    if (time > until) return race;
    yield;
  }
}

// What a generator returns, without a break.
function finished(work) {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

// How many of these times, which rise, have come by t; of equal ones all.
function cameBy(times, t) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}

// What became of the learners' time until t, as shares that add up to 1.
function sharesOfWork({ jobs, P }, t) {
  const shares = { "used fresh": 0, "used stale": 0, cancelled: 0, idle: 1, running: 0 };
  for (const mine of jobs) {
    for (const { start, end, fate } of mine) {
      if (start >= t) break;
      const share = (Math.min(end, t) - start) / (P * t);
      shares[end <= t ? fate : "running"] += share;
      shares.idle -= share;
    }
  }
  return shares;
}
