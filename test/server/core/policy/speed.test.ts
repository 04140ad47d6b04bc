/** Cost of four typical rules without a match per request; the figures are printed, the limit is generous. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { cpuMs } from "../../../support/cpu-time.ts";
import { atLlm, chat, policiesOf } from "./rules.ts";

const TYPICAL = [
  'model.startsWith("gpt-4") && !(key.metadata["team"] in ["research", "platform"])',
  'provider == "azure" && provider.metadata["region"] != "eu"',
  'has(user.email) && !user.email.endsWith("@example.com")',
  'key.name in ["retired", "leaked"] || model.matches("^internal-[0-9]+$")',
];

const ROUNDS = 200_000;

function nanosecondsOf(conditions: readonly string[]): number {
  const access = policiesOf({ access_rules: conditions.map((condition) => atLlm(condition)) }).of(undefined);
  const ask = (): void => {
    for (let round = 0; round < ROUNDS; round++) access.decide("llm", chat);
  };
  assert.equal(access.decide("llm", chat).kind, "allow");
  ask();
  const begun = cpuMs();
  ask();
  return ((cpuMs() - begun) / ROUNDS) * 1e6;
}

test("evaluating four rules without a match takes a few microseconds at most", (context) => {
  for (const condition of TYPICAL)
    context.diagnostic(`${nanosecondsOf([condition]).toFixed(0).padStart(5)} ns ${condition}`);
  const all = nanosecondsOf(TYPICAL);
  context.diagnostic(`${all.toFixed(0).padStart(5)} ns for the four`);
  assert.ok(all < 20_000, `${all} ns`);
});
