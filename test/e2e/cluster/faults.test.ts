/** A few rounds of faults; `faults.ts` runs many more manually. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FAULTS } from "./support/faults.ts";
import { playRounds, type RoundReport } from "./support/rounds.ts";

/** Faults that pass in a few seconds, one of each kind except `kill-leader`, which kill-and-return.test.ts runs. */
const QUICK = ["kill-all", "stop-leader", "cut", "one-way-follower", "tear", "transfer", "blank"];

const seed = Number(process.env["GATEWAY_TEST_SEED"] ?? Date.now() % 1_000_000);

test(`no fault loses an acknowledged write or lets a stale value be read (seed ${seed})`, async (t) => {
  const reports: RoundReport[] = [];
  await playRounds(t, { seed, rounds: QUICK.length, faults: QUICK, onRound: (report) => reports.push(report) });
  for (const { fault, done, tally } of reports) {
    assert.ok(FAULTS[fault] !== undefined && done !== undefined, `${fault} was not done`);
    assert.ok(tally.acknowledged >= 40 && tally.reads > 0, `clients did little in the round of ${fault}`);
    t.diagnostic(`${done}: ${tally.acknowledged} writes, ${tally.reads} reads`);
  }
});
