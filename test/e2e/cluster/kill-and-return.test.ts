// tier: test
/** A three-node cluster whose leader is killed under load and returns; faults.test.ts covers the other faults. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { playRounds, type RoundReport } from "./support/rounds.ts";

const seed = Number(process.env["GATEWAY_TEST_SEED"] ?? Date.now() % 1_000_000);

test(`a killed leader loses no acknowledged write and returns as a member (seed ${seed})`, async (t) => {
  const reports: RoundReport[] = [];
  await playRounds(t, { seed, rounds: 1, faults: ["kill-leader"], onRound: (report) => reports.push(report) });
  const [report] = reports;
  assert.ok(report?.done !== undefined);
  assert.ok(report.tally.acknowledged >= 40 && report.tally.reads > 0, "clients did little");
  t.diagnostic(`${report.done}: ${report.tally.acknowledged} writes, ${report.tally.reads} reads`);
});
