// The pictures: what learners do at the gate, and the loss. Pure functions of a race and a moment, on a 2D canvas: what
// moves follows the time on the clock, so that a reader can run it backwards. Knows FACTS and race.js.

const STROKE = Object.fromEntries(FACTS.variants.map(({ name, color, dash }) => [name, { color, dash: (dash ?? []).map((length) => 2.2 * length) }]));
const WORK = FACTS.work;
const FRESH = "used fresh", STALE = "used stale";
const THICKEST = 13; // pixels of a bar, where learners are few

const easeOut = (share) => 1 - (1 - share) ** 3;

// ---- The gate -------------------------------------------------------------------------------------------------------

// One variant. Left of the gate, which is now, past work moves away; right of it every running mini-batch is a dot whose
// distance is the time that it still needs. `box` has width, height, top, gate and scale (pixels per unit of time),
// `look` the page's ink and paper and `brief`, how long a flash lasts (0: no flashes).
function drawGate(g, runner, t, box, look) {
  const { gate, top, height } = box, pitch = (height - top - 6) / runner.P;
  const view = { ...box, pitch, row: Math.min(pitch, THICKEST / WORK[FRESH].share), bottom: height - 6, x: (time) => gate + (time - t) * box.scale };
  const version = versionAt(runner, t), { bars, dots } = seen(runner, t, version, view, look);
  drawTracks(g, runner.P, view, look);
  drawBars(g, bars, view, look);
  drawUpdates(g, runner, t, version, view, look);
  const flash = look.brief && version ? Math.max(0, 1 - (t - runner.time[version]) / (1.6 * look.brief)) : 0;
  drawLine(g, flash, STROKE[runner.variant].color, view, look);
  drawDots(g, dots, view, look);
  drawBasket(g, runner, t, version, flash, view, look);
  g.globalAlpha = 1;
}

// What there is to draw: bars by fate, each three numbers (from, to, y) of one list, because a frame may have thousands;
// dots [x, y] by kind. Cancelled mini-batches in a row are one bar.
function seen(runner, t, version, { x, gate, width, scale, top, pitch }, look) {
  const bars = { idle: [], cancelled: [], [STALE]: [], [FRESH]: [], stillStale: [], stillFresh: [] };
  const dots = { [FRESH]: [], [STALE]: [], far: [], gone: [] }, begin = t - gate / scale;
  runner.jobs.forEach((jobs, learner) => {
    const y = top + (learner + 0.5) * pitch;
    let n = lastStarted(jobs, t), next = t; // when what follows began
    if (n < 0) return;
    const now = jobs[n];
    if (now.end > t) { // nobody knows yet what becomes of it
      const fresh = now.version === version;
      const out = look.brief && now.start > 0 ? easeOut(clamp((t - now.start) / Math.min(look.brief, 0.4 * (now.due - now.start)), 0, 1)) : 1;
      const at = gate + (now.due - t) * scale * out;
      bars[fresh ? "stillFresh" : "stillStale"].push(Math.max(x(now.start), 0), gate, y);
      if (at > width - 7) dots.far.push([width - 7, y]);
      else dots[fresh ? FRESH : STALE].push([at, y]);
      next = now.start;
      n--;
    } else dots[now.fate === STALE ? STALE : FRESH].push([gate, y]); // it waits
    for (let chain = 0; n >= 0 && next > begin; n--) {
      const { start, end, due, fate } = jobs[n];
      if (end < next) bars.idle.push(Math.max(x(end), 0), x(next), y);
      if (fate === "cancelled") {
        chain ||= end; // when the last of the row was cancelled
        if (t - end < look.brief && due > t && x(due) < width) dots.gone.push([x(due), y, (t - end) / look.brief]);
        if (n === 0 || start <= begin || jobs[n - 1].fate !== "cancelled" || jobs[n - 1].end < start) {
          bars.cancelled.push(Math.max(x(start), 0), x(chain), y);
          chain = 0;
        }
      } else {
        const from = Math.max(x(start), 0), to = x(end);
        bars[fate].push(from, to - from > 4 ? to - 1 : to, y);
      }
      next = start;
    }
  });
  return { bars, dots };
}

function lastStarted(jobs, t) {
  let low = 0, high = jobs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (jobs[middle].start <= t) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function drawTracks(g, P, { gate, width, top, bottom, pitch }, look) {
  g.fillStyle = look.ink;
  g.globalAlpha = 0.05;
  g.fillRect(0, top - 3, gate, bottom - top + 3);
  g.globalAlpha = 0.1;
  if (pitch >= 4) for (let i = 0; i < P; i++) g.fillRect(0, Math.round(top + (i + 0.5) * pitch), width, 1);
}

// From the useless to the useful. Plain rectangles one by one: a path of thousands takes browsers far longer to fill.
function drawBars(g, bars, { row, pitch }, look) {
  const crowd = pitch < 3;
  const fill = (list, { color, share }, alpha, least = 0.7) => {
    const thick = Math.max(least, share * row);
    g.fillStyle = color === "black" ? look.ink : color;
    g.globalAlpha = alpha;
    for (let i = 0; i < list.length; i += 3) if (list[i + 1] > list[i]) g.fillRect(list[i], list[i + 2] - thick / 2, list[i + 1] - list[i], thick);
  };
  fill(bars.idle, WORK.idle, 0.13);
  fill(bars.cancelled, WORK.cancelled, 0.75);
  fill(bars[STALE], crowd ? { ...WORK[STALE], share: 0.8 } : WORK[STALE], 1);
  fill(bars[FRESH], crowd ? { ...WORK[FRESH], share: 1.2 } : WORK[FRESH], 1);
  fill(bars.stillFresh, { color: WORK[FRESH].color, share: WORK.running.share }, 0.4);
  fill(bars.stillStale, { color: WORK[STALE].color, share: WORK.running.share }, 0.5);
}

// Updates move away with the work that they were made of.
function drawUpdates(g, { time }, t, version, { x, gate, scale, top, bottom }, look) {
  const first = Math.max(1, cameBy(time, t - gate / scale)), apart = gate / Math.max(1, version - first);
  g.fillStyle = look.ink;
  g.globalAlpha = clamp(apart / 14, 0.16, 0.62);
  for (let j = first, last = -9; j <= version; j++) if (x(time[j]) - last >= 0.7) g.fillRect((last = x(time[j])) - 0.5, top - 3, 1, bottom - top + 3);
}

function drawLine(g, flash, color, { gate, top, bottom }, look) {
  g.fillStyle = color; // a glow of a few bands: a gradient costs more than all the rest
  g.globalAlpha = 0.1 * flash ** 2;
  for (let band = 1; flash > 0 && band <= 6; band++) {
    const reach = band * band * (1.1 - 0.4 * flash);
    g.fillRect(gate - reach, top - 4, 2 * reach, bottom - top + 4);
  }
  g.globalAlpha = 1;
  g.fillStyle = look.ink;
  g.fillRect(gate - 1, top - 4, 2, bottom - top + 4);
}

function drawDots(g, dots, { gate, pitch }, look) {
  const radius = clamp(0.44 * pitch, 1.9, 5.2), tail = clamp(0.16 * pitch, 0.6, 1.6), crowd = pitch < 3;
  for (const kind of [FRESH, STALE]) { // tails first, so that none crosses a dot
    g.fillStyle = WORK[kind].color;
    g.globalAlpha = 0.6;
    for (const [x, y] of dots[kind]) g.fillRect(gate, y - tail / 2, x - gate, tail);
  }
  g.globalAlpha = 1;
  for (const kind of [FRESH, STALE]) {
    if (crowd) { // specks: a stamp each would take longer than all the rest
      g.fillStyle = WORK[kind].color;
      for (const [x, y] of dots[kind]) g.fillRect(x - 1.6, y - 1.6, 3.2, 3.2);
    } else if (dots[kind].length) {
      const { image, half } = stamp(WORK[kind].color, radius, look);
      for (const [x, y] of dots[kind]) g.drawImage(image, x - half, y - half, 2 * half, 2 * half);
    }
  }
  g.globalAlpha = 0.45;
  g.fillStyle = look.ink;
  for (const [x, y] of dots.far) { // too far to be seen
    const r = Math.min(radius, 3.5);
    g.beginPath(); g.moveTo(x + r, y); g.lineTo(x - 0.6 * r, y - r); g.lineTo(x - 0.6 * r, y + r); g.fill();
  }
  if (!dots.gone.length) return;
  if (crowd) {
    for (const [x, y, age] of dots.gone) { g.globalAlpha = 0.5 * (1 - age); g.fillRect(x - 1, y - 1, 2, 2); }
    return;
  }
  const ring = stamp(look.ink, radius, look, true); // cancelled just now
  for (const [x, y, age] of dots.gone) {
    const half = ring.half * (0.9 + 0.7 * age);
    g.globalAlpha = 0.6 * (1 - age);
    g.drawImage(ring.image, x - half, y - half, 2 * half, 2 * half);
  }
}

// A dot or a ring, drawn once and stamped often.
const stamps = new Map();
function stamp(color, radius, { paper, ratio }, ring = false) {
  const key = [color, radius.toFixed(2), paper, ratio, ring].join();
  if (stamps.size > 100) stamps.clear();
  if (!stamps.has(key)) {
    const half = radius + 1, image = document.createElement("canvas"), g = image.getContext("2d");
    image.width = image.height = Math.ceil(2 * half * ratio);
    g.scale(image.width / (2 * half), image.width / (2 * half));
    g.arc(half, half, radius - 0.3 * ring, 0, 7);
    g.fillStyle = color;
    g.strokeStyle = ring ? color : paper;
    g.lineWidth = 1.2;
    if (!ring) g.fill();
    if (ring || radius > 2.5) g.stroke();
    stamps.set(key, { image, half });
  }
  return stamps.get(key);
}

// What the server has collected for the next update, above the gate.
function drawBasket(g, runner, t, version, flash, { gate, width, top }, look) {
  const { K } = runner, held = (runner.pushes[version + 1] ?? []).filter((push) => push.time <= t), y = top - 12;
  const color = (push) => WORK[push.version === version ? FRESH : STALE].color;
  if (K > (width > 480 ? 8 : 3)) { // a bar where there is no room for dots
    const w = Math.min(84, 0.12 * width), left = gate - w / 2;
    g.globalAlpha = 1;
    held.forEach((push, k) => { g.fillStyle = color(push); g.fillRect(left + (w * k) / K, y - 4, w / K + 0.4, 8); });
    g.globalAlpha = 0.55;
    g.strokeStyle = flash ? STROKE[runner.variant].color : look.ink;
    g.lineWidth = 1 + 2 * flash;
    g.strokeRect(left - 0.5, y - 4.5, w + 1, 9);
    return;
  }
  for (let k = 0; k < K; k++) {
    const x = gate + (k - (K - 1) / 2) * 11;
    g.globalAlpha = 1;
    g.fillStyle = k < held.length ? color(held[k]) : look.paper;
    g.strokeStyle = flash ? STROKE[runner.variant].color : look.muted;
    g.lineWidth = 1.1 + 1.2 * flash;
    g.beginPath(); g.arc(x, y, 3.8, 0, 7); g.fill(); g.stroke();
  }
}

// The axis of time below the gates: it moves with the work.
function drawAxis(g, t, { width, gate, scale }, look) {
  const step = scale < 20 ? 5 : scale < 45 ? 2 : scale > 400 ? 0.2 : 1;
  g.font = `12px ${look.font}`;
  g.textAlign = "center";
  g.textBaseline = "top";
  g.fillStyle = look.muted;
  for (let n = Math.ceil(Math.max(0, t - gate / scale) / step); n * step <= t + (width - gate) / scale; n++) {
    const x = gate + (n * step - t) * scale;
    g.globalAlpha = clamp((Math.abs(x - gate) - 18) / 14, 0, 1);
    if (x > 5 && x < width - 8) g.fillText(`${+(n * step).toFixed(1)}`, x, 5);
    g.fillRect(x - 0.5, 0, 1, 3.5);
  }
  g.globalAlpha = 1;
  g.fillStyle = look.ink;
  g.font = `600 12px ${look.font}`;
  g.fillText("now", gate, 5);
}

// ---- The loss -------------------------------------------------------------------------------------------------------

// The loss against time, on an axis that grows with the race, so that its start can be seen.
function drawLoss(g, race, t, { width, height }, look) {
  const [low, high] = lossRange(race), left = 34, top = 26, bottom = height - 25;
  g.font = `700 12.5px ${look.font}`; // as wide as a name can be
  const names = Math.max(...NAMES.map((name) => g.measureText(name).width)) + 64, named = width - names > 100;
  const right = width - (named ? names : 34); // very narrow: the gates have the names
  const range = clamp(1.1 * t, 0.16 * race.until, race.until);
  const x = (time) => left + ((right - left) * time) / range;
  const y = (loss) => top + ((bottom - top) * Math.log(high / clamp(loss, low, high))) / Math.log(high / low);
  drawScales(g, race, t, { left, right, top, bottom, low, high, range, width, x, y }, look);
  g.lineJoin = "round";
  g.lineWidth = 2.2;
  const ends = race.runners.map((runner) => drawCurve(g, runner, t, x, y));
  ends.sort((a, b) => b.loss - a.loss);
  const labels = spread(ends.map((end) => end.y), 18, top, bottom);
  ends.forEach((end, n) => drawEnd(g, end, x(t), look));
  if (named) ends.forEach((end, n) => drawName(g, end, x(t), right, labels[n], width, end.loss === ends[3].loss, look));
}

// From below what the fastest could reach with fresh gradients to above the start.
function lossRange({ runners, until, P, K, eta, floor }) {
  const top = runners[0].loss[0] * 1.25, reached = PROBLEM.freshLoss((until * P) / K, K, eta);
  return [Math.min(0.55 * Math.min(reached, floor || reached), top / 10), top];
}

function drawScales(g, race, t, { left, right, top, bottom, low, high, range, width, x, y }, look) {
  const { floor } = race, floorSeen = floor > low && floor < high;
  g.font = `12px ${look.font}`;
  g.textBaseline = "middle";
  g.textAlign = "right";
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const digit of [1, 2, 5]) {
      const value = digit * 10 ** power;
      if (value < low || value > high) continue;
      g.globalAlpha = 0.12; g.fillStyle = look.ink;
      g.fillRect(left, Math.round(y(value)), right - left, 1);
      g.globalAlpha = 1; g.fillStyle = look.muted;
      if (!floorSeen || Math.abs(y(value) - y(floor)) > 13) g.fillText(`${+value.toPrecision(1)}`, left - 6, y(value));
    }
  }
  g.fillStyle = look.muted;
  if (floorSeen) {
    g.fillText("floor", left - 5, y(floor));
    for (let at = left; at < right; at += 4) g.fillRect(at, Math.round(y(floor)), 1.5, 1);
  }
  g.textBaseline = "top";
  g.textAlign = "center";
  const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20].find((size) => range / size <= Math.min(6.5, (right - left) / 25)) ?? 50;
  for (let n = 0; n * step <= range * 1.0001; n++) {
    g.fillText(`${+(n * step).toFixed(1)}`, x(n * step), bottom + 7);
    g.fillRect(x(n * step) - 0.5, bottom, 1, 4);
  }
  g.textAlign = "right";
  g.fillText("time", Math.min(width, right + 45), bottom + 7);
  g.globalAlpha = 0.5;
  g.fillRect(left, bottom, right - left, 1);
  g.globalAlpha = 0.3;
  g.fillStyle = look.ink;
  g.fillRect(x(t) - 0.5, top - 6, 1, bottom - top + 6);
  g.globalAlpha = 1;
  g.font = `600 13px ${look.font}`;
  g.textAlign = "left";
  g.textBaseline = "middle";
  g.fillText("loss", 0, 10);
}

// One curve of steps, looked at once per pixel. Returns where it ends.
function drawCurve(g, runner, t, x, y) {
  const { color, dash } = STROKE[runner.variant], pixels = Math.max(1, Math.floor(x(t) - x(0)));
  g.strokeStyle = color;
  g.setLineDash(dash);
  g.beginPath();
  g.moveTo(x(0), y(runner.loss[0]));
  let j = 0;
  for (let i = 1; i <= pixels; i++) {
    const time = (t * i) / pixels, before = j;
    while (runner.time[j + 1] <= time) j++;
    if (j !== before) { g.lineTo(x(time), y(runner.loss[before])); g.lineTo(x(time), y(runner.loss[j])); }
  }
  const loss = lossAt(runner, t);
  g.lineTo(x(t), y(loss));
  g.stroke();
  g.setLineDash([]);
  return { name: runner.variant, color, loss, y: y(loss) };
}

// A dot where the curve is.
function drawEnd(g, { color, y }, x, look) {
  g.fillStyle = color;
  g.strokeStyle = look.paper;
  g.lineWidth = 1.5;
  g.beginPath(); g.arc(x, y, 4.6, 0, 7); g.fill(); g.stroke();
}

// Its name beside the chart, and a line between them that nobody takes for data.
function drawName(g, { name, color, loss, y }, x, right, at, width, first, look) {
  const { dash, width: thin, alpha } = FACTS.leader;
  g.strokeStyle = look.ink;
  g.globalAlpha = alpha;
  g.lineWidth = thin;
  g.setLineDash(dash);
  g.beginPath(); g.moveTo(x + 7, y); g.lineTo(right + 2, y); g.lineTo(right + 13, at); g.stroke();
  g.setLineDash([]);
  g.globalAlpha = 1;
  g.fillStyle = color;
  g.fillRect(right + 15, at - 5, 3, 10);
  g.fillStyle = look.ink;
  g.textBaseline = "middle";
  g.textAlign = "left";
  g.font = `${first ? 700 : 400} 12.5px ${look.font}`;
  g.fillText(name, right + 22, at);
  g.fillStyle = look.muted;
  g.textAlign = "right";
  g.font = `12px ${look.font}`;
  g.fillText(loss < 100 ? shown(loss) : "↑", width, at);
}

// Labels at least `gap` apart and as near to their places as that allows; `places` from the top down.
function spread(places, gap, low, high) {
  const at = [...places];
  for (let pass = 0; pass < 30; pass++) {
    for (let i = 1; i < at.length; i++) {
      const overlap = gap - (at[i] - at[i - 1]);
      if (overlap > 0) { at[i - 1] -= overlap / 2; at[i] += overlap / 2; }
    }
    at[0] = Math.max(at[0], low);
    at[at.length - 1] = Math.min(at[at.length - 1], high);
  }
  return at;
}

// A law as a small picture: how its times lie between 0 and 3.
function drawLaw(g, law, { width, height }, color) {
  const bins = new Array(22).fill(0), many = 600, step = width / bins.length;
  for (let n = 0; n < many; n++) {
    const bin = Math.floor((law.fromExponential(-Math.log(1 - (n + 0.5) / many)) / 3) * bins.length);
    if (bin < bins.length) bins[bin]++;
  }
  const most = Math.max(...bins);
  g.fillStyle = color;
  bins.forEach((count, i) => { if (count) g.fillRect(i * step, height, step - 0.5, -Math.max(1, height * Math.sqrt(count / most))); });
  g.fillRect(0, height - 1, width, 1);
}
