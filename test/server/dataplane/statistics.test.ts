/** Provider statistics of the last 60 seconds, compared with a model that remembers everything. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createStatistics, type ProviderReading, type Statistics } from "../../../src/server/dataplane/index.ts";

const START = Date.UTC(2026, 10, 20);

/** A clock that stands still until it is moved; its monotonic reading begins at 1,000 s. */
function standingClock() {
  let ms = 0;
  return {
    clock: { now: () => START + ms, monotonic: () => 1_000_000 + ms },
    pass(by: number) {
      ms += by;
    },
  };
}

function open(...names: readonly string[]) {
  const { clock, pass } = standingClock();
  const statistics = createStatistics(clock);
  statistics.configure(names);
  return { statistics, pass };
}

const REQUEST = { request: "r", caller: "ci", model: "m", durationMs: 3, error: undefined } as const;
const FAILURE = { kind: "5xx", status: 503, attempt: 1, movedTo: null, ...REQUEST } as const;

function attempts(statistics: Statistics, provider: string, answered: number, failed: number): void {
  const measured = statistics.of(provider);
  for (let count = 0; count < answered + failed; count++) {
    measured?.beginAttempt(false);
    if (count < answered) measured?.recordAnswer(10);
    else measured?.recordFailure(FAILURE);
    measured?.endAttempt();
  }
}

const NOTHING_MET: ProviderReading = {
  state: "idle",
  rate: 0,
  errorRatio: null,
  firstByteP50: null,
  firstByteP95: null,
  inFlight: 0,
  retries: 0,
  failoversIn: 0,
  failoversOut: 0,
  units: 0,
  lastFailure: undefined,
};

test("a provider takes little memory until it is used", () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `provider-${at}`);
  const before = process.memoryUsage().arrayBuffers;
  const { statistics } = open(...names);
  const taken = process.memoryUsage().arrayBuffers - before;
  assert.ok(taken < 8 * 2 ** 20, `1,000 providers take ${taken} bytes`);
  attempts(statistics, "provider-7", 1, 0);
  assert.equal(statistics.read("provider-7")?.state, "ok");
  assert.equal(statistics.read("provider-8")?.state, "idle");
});

test("a provider without requests is idle, and an unconfigured one is unknown", () => {
  const { statistics } = open("a");
  assert.deepEqual(statistics.read("a"), NOTHING_MET);
  assert.deepEqual(statistics.failures("a"), []);
  assert.deepEqual(
    [statistics.read("b"), statistics.failures("b"), statistics.of("b")],
    [undefined, undefined, undefined],
  );
});

for (const [answered, failed, state] of [
  [0, 2, "ok"],
  [0, 3, "failing"],
  [2, 1, "ok"],
  [2, 2, "failing"],
  [5, 4, "ok"],
] as const) {
  test(`${answered} answered and ${failed} failed attempts are ${state}`, () => {
    const { statistics } = open("a");
    attempts(statistics, "a", answered, failed);
    const measured = statistics.read("a");
    assert.deepEqual([measured?.state, measured?.errorRatio], [state, failed / (answered + failed)]);
  });
}

test("an attempt whose client disconnected counts while it runs and not afterwards", () => {
  const { statistics } = open("a");
  const attempt = statistics.of("a");
  attempt?.beginAttempt(false);
  assert.deepEqual(statistics.read("a"), { ...NOTHING_MET, state: "ok", inFlight: 1 });
  attempt?.endAttempt();
  assert.deepEqual(statistics.read("a"), NOTHING_MET);
});

test("a rate covers the time since the provider was configured, at most 60 seconds", () => {
  const { statistics, pass } = open("a");
  attempts(statistics, "a", 20, 0);
  assert.equal(statistics.read("a")?.rate, 20, "never over less than a second");
  pass(10_000);
  assert.equal(statistics.read("a")?.rate, 2);
  pass(600_000);
  attempts(statistics, "a", 120, 0);
  pass(500);
  assert.equal(statistics.read("a")?.rate, 120 / 59.5);
});

test("counts expire after 60 seconds, and attempts in flight stay", () => {
  const { statistics, pass } = open("a");
  attempts(statistics, "a", 3, 3);
  statistics.of("a")?.beginAttempt(true);
  pass(59_000);
  assert.deepEqual([statistics.read("a")?.state, statistics.isQuiet()], ["failing", false]);
  pass(1_000);
  assert.deepEqual(statistics.read("a"), { ...NOTHING_MET, state: "ok", inFlight: 1 });
  assert.equal(statistics.isQuiet(), true);
});

test("a provider removed from the configuration is forgotten, and its attempts still end", () => {
  const { statistics } = open("a", "b");
  const attempt = statistics.of("a");
  attempt?.beginAttempt(false);
  attempts(statistics, "b", 1, 0);
  statistics.configure(["b"]);
  assert.equal(statistics.read("a"), undefined);
  statistics.configure(["a", "b"]);
  attempt?.recordFailure(FAILURE);
  attempt?.endAttempt();
  assert.deepEqual(statistics.read("a"), NOTHING_MET);
  assert.equal(statistics.read("b")?.errorRatio, 0);
});

test("the last 50 failures are kept with their times, newest first", () => {
  const { statistics, pass } = open("a");
  for (let attempt = 1; attempt <= 60; attempt++) {
    statistics.of("a")?.recordFailure({ kind: "timeout", status: null, attempt, movedTo: "b", ...REQUEST });
    pass(1_000);
  }
  const failures = statistics.failures("a") ?? [];
  assert.equal(failures.length, 50);
  assert.deepEqual(failures[0], {
    kind: "timeout",
    status: null,
    attempt: 60,
    movedTo: "b",
    ...REQUEST,
    at: START + 59_000,
  });
  assert.deepEqual(
    failures.map(({ attempt }) => attempt),
    Array.from({ length: 50 }, (_, at) => 60 - at),
  );
});

test("a waiting reader is notified of the next change, once", () => {
  const { statistics } = open("a");
  let calls = 0;
  statistics.awaitChange(() => {
    calls += 1;
  });
  statistics.of("a")?.beginAttempt(false);
  statistics.of("a")?.endAttempt();
  assert.equal(calls, 1);
  statistics.awaitChange(() => assert.fail("it was taken off"));
  statistics.awaitChange(undefined);
  statistics.of("a")?.beginAttempt(true);
});

test("spent units are summed over 60 seconds, beyond 32 bits", () => {
  const { statistics, pass } = open("a");
  statistics.of("a")?.addUnits(3_000_000_000);
  pass(30_000);
  statistics.of("a")?.addUnits(2_000_000_000);
  assert.equal(statistics.read("a")?.units, 5_000_000_000);
  pass(30_000);
  assert.equal(statistics.read("a")?.units, 2_000_000_000);
  assert.equal(statistics.isQuiet(), false);
  pass(30_000);
  assert.deepEqual([statistics.read("a")?.units, statistics.isQuiet()], [0, true]);
});

test("spending is a change, and a charge of zero is none", () => {
  const { statistics } = open("a");
  let calls = 0;
  statistics.awaitChange(() => {
    calls += 1;
  });
  statistics.of("a")?.addUnits(0);
  assert.equal(calls, 0);
  statistics.of("a")?.addUnits(1);
  assert.equal(calls, 1);
});

const RECORDED = ["answered", "failed", "retry", "in", "out", "spent"] as const;
const event = fc.record({
  afterMs: fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 200_000 })),
  what: fc.constantFrom(...RECORDED),
});

test("for any sequence of events, counts cover the last 60 seconds", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const { statistics, pass } = open("a");
      const seen: { readonly second: number; readonly what: (typeof RECORDED)[number] }[] = [];
      let ms = 0;
      for (const { afterMs, what } of events) {
        pass(afterMs);
        ms += afterMs;
        const measured = statistics.of("a");
        if (what === "answered") measured?.recordAnswer(1);
        if (what === "failed") measured?.recordFailure(FAILURE);
        if (what === "retry") measured?.beginAttempt(true);
        if (what === "in") measured?.countFailoverIn();
        if (what === "out") measured?.countFailoverOut();
        if (what === "spent") measured?.addUnits(7);
        seen.push({ second: Math.floor(ms / 1_000), what });
        const within = seen.filter(({ second }) => second > Math.floor(ms / 1_000) - 60);
        const count = (...wanted: readonly string[]): number => within.filter((it) => wanted.includes(it.what)).length;
        const read = statistics.read("a");
        const all = count("answered", "failed");
        assert.deepEqual(
          [
            read?.errorRatio,
            read?.retries,
            read?.failoversIn,
            read?.failoversOut,
            read?.units,
            read?.firstByteP50 === null,
          ],
          [
            all === 0 ? null : count("failed") / all,
            count("retry"),
            count("in"),
            count("out"),
            7 * count("spent"),
            count("answered") === 0,
          ],
        );
      }
    }),
  );
});

/** Milliseconds from the shortest distinguishable to ten minutes, uniform over orders of magnitude. */
const latency = fc.double({ min: Math.log(0.256), max: Math.log(600_000), noNaN: true }).map(Math.exp);

test("quantiles of the time to the first byte are accurate to 5 %", () => {
  fc.assert(
    fc.property(fc.array(latency, { minLength: 1, maxLength: 200 }), (latencies) => {
      const { statistics } = open("a");
      for (const ms of latencies) statistics.of("a")?.recordAnswer(ms);
      const sorted = latencies.toSorted((a, b) => a - b);
      const read = statistics.read("a");
      for (const [share, found] of [
        [0.5, read?.firstByteP50],
        [0.95, read?.firstByteP95],
      ] as const) {
        const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
        assert.ok(Math.abs((found ?? 0) - exact) <= exact * 0.05, `${found} for ${exact}`);
      }
    }),
    { numRuns: 500 },
  );
});

test("times outside the bounds are recorded at the bounds", () => {
  const { statistics } = open("a");
  statistics.of("a")?.recordAnswer(0);
  assert.equal(statistics.read("a")?.firstByteP50, 0.128);
  for (let count = 0; count < 100; count++) statistics.of("a")?.recordAnswer(1e12);
  assert.ok((statistics.read("a")?.firstByteP95 ?? 0) > 1_000_000);
});
