/** The bench's comparison of several gateways, and of what npm installed. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compare } from "../bench/comparisons.ts";
import { parseBenchOptions } from "../bench/options.ts";
import { readIntegrity } from "../bench/parts/portkey.ts";
import type { Measured } from "../bench/rounds.ts";
import { summarize } from "../bench/statistics.ts";

function measured(name: Measured["name"], cpuUsOfRounds: readonly number[]): Measured {
  const none = summarize([]);
  const cpuUs = summarize(cpuUsOfRounds);
  const rest = { ratio: none, perSecond: none, addedP50Us: none, addedP99Us: none, addedFirstUs: none, rssMib: 0 };
  return { name, requests: 1, cpuUs, cpuUsOfRounds, ...rest };
}

const JUDGED = { maxPortkeyShare: 0.1 };
const verdicts = (rows: readonly Measured[]): readonly string[] => compare(JUDGED, rows).map(({ verdict }) => verdict);

describe("comparison of gateways", () => {
  it("prints nothing for the gateway alone", () => {
    assert.deepEqual(compare(JUDGED, [measured("bare", [50]), measured("gateway", [80])]), []);
  });

  it("computes a ratio within each round, and the median of them", () => {
    const [row] = compare(JUDGED, [measured("gateway", [50, 100, 90]), measured("portkey", [1_000, 1_000, 1_000])]);
    assert.deepEqual([row?.value, row?.detail], ["0.090", "0.050-0.100"]);
  });

  it("allows the gateway a tenth of Portkey's usage, and no more", () => {
    assert.deepEqual(verdicts([measured("gateway", [100]), measured("portkey", [1_000])]), ["pass"]);
    assert.deepEqual(verdicts([measured("gateway", [101]), measured("portkey", [1_000])]), ["MISS"]);
  });

  it("prints the figures that it does not judge", () => {
    const [row] = compare({}, [measured("gateway", [500]), measured("portkey", [1_000])]);
    assert.deepEqual([row?.value, row?.target, row?.verdict], ["0.500", "", ""]);
  });

  it("reports many keys as more expensive only if every round does", () => {
    assert.deepEqual(verdicts([measured("gateway", [100, 100]), measured("many keys", [104, 104])]), ["pass"]);
    assert.deepEqual(verdicts([measured("gateway", [100, 100]), measured("many keys", [99, 120])]), ["pass"]);
    assert.deepEqual(verdicts([measured("gateway", [100, 100]), measured("many keys", [107, 120])]), ["MISS"]);
  });
});

describe("bench input", () => {
  it("accepts flags with one dash and with two", () => {
    const { only, isQuick, rounds } = parseBenchOptions(["-only", "governed", "--quick", "-rounds=2"]);
    assert.deepEqual({ only, isQuick, rounds }, { only: ["governed"], isQuick: true, rounds: 2 });
  });

  it("finds a package's integrity in npm's lock file, and nothing if it is absent", () => {
    const packages = { "node_modules/@portkey-ai/gateway": { integrity: "sha512-x" } };
    assert.equal(readIntegrity(JSON.stringify({ packages })), "sha512-x");
    assert.equal(readIntegrity("{}"), undefined);
  });
});
