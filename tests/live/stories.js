// Runs every story of the page with other luck, and tells what its sentence speaks of. Reads {source, lucks} from the
// standard input: the parts of the script that know no page, and how many races to run.
const { source, lucks } = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
const { FACTS, settingOf, fourRaces, luckOf, noWins, countWins, versionAt } = new Function(
  `"use strict"; ${source}; return { FACTS, settingOf, fourRaces, luckOf, noWins, countWins, versionAt };`,
)();

// By how many times a loss rises again above the least that it has been.
const rebound = (losses) => {
  let least = Infinity, most = 1;
  for (const loss of losses) { least = Math.min(least, loss); most = Math.max(most, loss / least); }
  return most;
};

const told = ({ name, P, K, law, eta, parameter }) => {
  const { setting, said } = settingOf({ P, K, law, eta, parameter });
  const races = Array.from({ length: lucks }, (_, n) => fourRaces(setting, luckOf(1000 + n)));
  const wins = noWins();
  for (const race of races) countWins(wins, race);
  const cancelled = races.map(({ runners, until }) => {
    const left = runners[0].jobs.flat().filter(({ fate, end }) => fate === "cancelled" && end <= until).map(({ due, end }) => due - end);
    return left.reduce((sum, time) => sum + time, 0) / (left.length || 1);
  });
  return {
    name, said, cancelled, // the mean time that what K-sync cancelled still needed, by race
    ...wins,
    updates: races.map(({ runners, until }) => runners.map((runner) => versionAt(runner, until))),
    staleness: races.map(({ runners, until }) => runners.map((runner) => { const j = versionAt(runner, until); return runner.stale[j] / (j * K); })),
    rebounds: races.map(({ runners, until }) => runners.map((runner) => rebound(runner.loss.slice(0, versionAt(runner, until) + 1)))),
  };
};
console.log(JSON.stringify(FACTS.stories.map(told)));
