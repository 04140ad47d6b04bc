import assert from "node:assert/strict";
import { test } from "node:test";
import {
  addReadings,
  createInstruments,
  createMergedInstruments,
  type Log,
  systemClock,
} from "../../../../src/base/index.ts";
import { createFailureSampler } from "../../../../src/server/audit/index.ts";
import {
  type AttemptFailure,
  createRefusals,
  createStatistics,
  type RequestSummary,
} from "../../../../src/server/dataplane/index.ts";
import {
  sendFailures,
  sendFinished,
  sendLog,
  sendMetrics,
  sendRefusals,
  sendStatistics,
  takeFailures,
  takeFinished,
  takeLog,
  takeMetrics,
  takeRefusals,
  takeStatistics,
} from "../../../../src/server/workers/index.ts";
import { openPair } from "../support/pair.ts";

/** Resolves once the condition is true, within two seconds. */
async function until(isSo: () => boolean, what: string): Promise<void> {
  for (let waited = 0; !isSo(); waited += 5) {
    assert.ok(waited < 2_000, what);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const FAILURE: AttemptFailure = {
  ...{ kind: "5xx", status: 503, attempt: 1, movedTo: "b", request: "r1", caller: null, model: "m", durationMs: 3 },
  error: undefined,
};

test("outcomes that two workers saw are read at the node like its own, and end with the workers", async () => {
  const statistics = createStatistics(systemClock);
  statistics.configure(["a"]);
  const alone = createStatistics(systemClock);
  alone.configure(["a"]);
  const met = (to: ReturnType<typeof sendStatistics>): void => {
    const at = to.of("a", "m")!;
    for (let count = 0; count < 3; count += 1) {
      at.beginAttempt(count === 2);
      at.recordAnswer(12.5);
      at.addUnits(7);
      if (count > 0) at.endAttempt();
    }
    at.beginAttempt(false);
    at.recordFailure(FAILURE);
    at.countFailoverOut();
  };
  await using first = await openPair();
  await using second = await openPair();
  const ends = [takeStatistics(first.node, statistics), takeStatistics(second.node, statistics)];
  met(sendStatistics(first.worker));
  met(sendStatistics(second.worker));
  // A provider that was never configured belongs to nobody.
  sendStatistics(first.worker).of("gone")?.beginAttempt(false);
  met(alone);
  met(alone);
  await until(() => statistics.read("a")?.inFlight === 4 && statistics.failures("a")?.length === 2, "reported");
  const { rate: _, lastFailure, ...read } = statistics.read("a")!;
  const { rate: __, lastFailure: ___, ...expected } = alone.read("a")!;
  assert.deepEqual(read, expected);
  assert.deepEqual(lastFailure, statistics.failures("a")?.[0]);
  assert.deepEqual({ ...lastFailure, at: 0, error: undefined }, { ...FAILURE, at: 0 });
  ends[0]?.();
  assert.equal(statistics.read("a")?.inFlight, 2);
});

test("each refusal is counted by caller and reason, with the last request", async () => {
  await using pair = await openPair();
  const reported: string[] = [];
  const refusals = createRefusals(systemClock, ({ requestId }) => reported.push(requestId));
  takeRefusals(pair.node, refusals);
  const worker = sendRefusals(pair.worker);
  for (let at = 0; at < 40; at += 1) {
    const by = { kind: "budget", name: "team", bucket: "b/team" } as const;
    worker.refused({ caller: undefined, code: "budget_exhausted", by, requestId: `r${at}` });
  }
  worker.refused({ caller: undefined, code: "overloaded", by: undefined, requestId: "last" });
  await until(() => reported.length === 41, "all are reported");
  const [budget, overloaded] = refusals.read();
  assert.deepEqual([budget?.lastMinute, budget?.lastRequest, overloaded?.lastMinute], [40, "r39", 1]);
  assert.equal(refusals.ofBucket("b/team"), 40);
});

test("the last refused request is the last over all workers, whichever reports first", async () => {
  await using one = await openPair();
  await using two = await openPair();
  const refusals = createRefusals(systemClock);
  takeRefusals(one.node, refusals);
  takeRefusals(two.node, refusals);
  const overloaded = { caller: undefined, code: "overloaded", by: undefined } as const;
  sendRefusals(one.worker).refused({ ...overloaded, requestId: "first" });
  const later = sendRefusals(two.worker);
  later.refused({ ...overloaded, requestId: "second" });
  later.refused({ ...overloaded, requestId: "third" });
  two.node.send("flush", null, true);
  await until(() => refusals.read()[0]?.lastMinute === 3, "all are reported");
  assert.equal(refusals.read()[0]?.lastRequest, "third");
});

test("of a flood of finished requests the last ones are reported in order, and at once on demand", async () => {
  await using pair = await openPair();
  const rows: RequestSummary[] = [];
  const ids = (): readonly string[] => rows.map(({ id }) => id);
  takeFinished(pair.node, { finished: (row) => rows.push(row) });
  const { finished } = sendFinished(pair.worker);
  for (let at = 0; at < 9_000; at += 1) finished({ ...ENDED, id: `r${at}` });
  await until(() => rows.length >= 2_000, "reported");
  const last = Array.from({ length: 2_000 }, (_, at) => `r${7_000 + at}`);
  assert.deepEqual(ids(), last);
  rows.length = 0;
  for (let at = 0; at < 9_000; at += 1) finished({ ...ENDED, id: `r${at}` });
  pair.node.send("flush", null, true);
  await until(() => rows.length >= 2_000, "the rows are sent on request");
  assert.deepEqual(ids(), last);
  rows.length = 0;
  finished({ ...ENDED, id: "one" });
  await until(() => rows.length > 0, "the rows are sent unasked");
  assert.deepEqual(ids(), ["one"]);
});

const ENDED: RequestSummary = {
  ...{ at: 1, id: "", caller: "c", profile: undefined, hop: "llm", route: "/v1/chat/completions", model: "m" },
  ...{ provider: "a", status: 200, code: "", attempts: 1, firstByteMs: 1, totalMs: 2, inputTokens: 3, outputTokens: 4 },
  decidedBy: undefined,
};

test("each authentication failure is counted, and ten a second are recorded", async () => {
  await using pair = await openPair();
  const instruments = createInstruments();
  const recorded: unknown[] = [];
  const trail = { append: (event: unknown) => void recorded.push(event) };
  takeFailures(pair.node, createFailureSampler({ trail, instruments, now: () => 1_000 }));
  const recordFailedAuthentication = sendFailures(pair.worker);
  for (let at = 0; at < 500; at += 1) recordFailedAuthentication({ fault: "unknown_key" });
  const total = (): number => {
    const reading = instruments.read()[0];
    return reading?.kind === "counter" ? (reading.series[0]?.value ?? 0) : 0;
  };
  await until(() => total() === 500, "all are counted");
  assert.equal(recorded.length, 10);
});

test("a series is the sum over node and workers, and a counter keeps the share of a worker that ended", async () => {
  const node = createMergedInstruments();
  node.counter("c_total", "C.", ["l"]).with("x").inc(1);
  const counted = (name: string, label = "x"): number | undefined => {
    const reading = node.read().find((one) => one.name === name);
    if (reading === undefined || reading.kind === "histogram") return undefined;
    return reading.series.find(({ labelValues }) => labelValues[0] === label || label === "")?.value;
  };
  const join = async (by: number) => {
    const pair = await openPair();
    const instruments = createInstruments();
    instruments.counter("c_total", "C.", ["l"]).with("x").inc(by);
    instruments.counter("c_total_of_workers", "D.", ["l"]).with("y").inc(by);
    instruments.observedGauge("g", "G.", () => by);
    instruments.histogram("h", "H.", [1, 2]).with().observe(by);
    instruments.observedGauge("gateway_budget_buckets", "Of the node alone.", () => by);
    sendMetrics(pair.worker, instruments);
    return { pair, leave: takeMetrics(pair.node, node) };
  };
  const first = await join(2);
  const second = await join(5);
  await node.refresh();
  assert.deepEqual([counted("c_total"), counted("c_total_of_workers", "y"), counted("g", "")], [8, 7, 7]);
  const histogram = node.read().find(({ name }) => name === "h");
  assert.deepEqual(histogram?.kind === "histogram" && histogram.series[0], {
    labelValues: [],
    cumulative: [0, 1, 2],
    sum: 7,
  });
  assert.equal(counted("gateway_budget_buckets", ""), undefined);
  await first.pair[Symbol.asyncDispose]();
  first.leave();
  assert.deepEqual([counted("c_total"), counted("g", "")], [8, 5]);
  await second.pair[Symbol.asyncDispose]();
  // A worker that no longer answers does not block a scrape.
  await node.refresh();
  second.leave();
  assert.deepEqual([counted("c_total"), counted("c_total_of_workers", "y"), counted("g", "")], [8, 7, undefined]);
});

test("the label limit of one instrument applies over all workers, and the rest counts as other", () => {
  const node = createMergedInstruments();
  for (let worker = 0; worker < 3; worker += 1) {
    const instruments = createInstruments();
    const family = instruments.counter("c_total", "C.", ["l"]);
    for (let at = 0; at < 1_000; at += 1) family.with(`${worker} ${at}`).inc();
    node.addDeparted(instruments.read());
  }
  const [reading] = node.read();
  assert.ok(reading?.kind === "counter");
  assert.ok(reading.series.length <= 2_001);
  assert.equal(
    reading.series.reduce((sum, { value }) => sum + value, 0),
    3_000,
  );
});

test("a worker's line appears in the node's log with its number", async () => {
  await using pair = await openPair();
  const lines: unknown[] = [];
  const write =
    (level: string) =>
    (message: string, fields: object = {}): void =>
      void lines.push([level, message, fields]);
  const log: Log = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  takeLog(pair.node, log, 3);
  const worker = sendLog(pair.worker, "info", Date.now);
  worker.debug("nothing of this");
  worker.warn("something", { why: ["a", "b"], n: 1 });
  await until(() => lines.length === 1, "reported");
  assert.deepEqual(lines, [["warn", "something", { why: ["a", "b"], n: 1, worker: 3 }]]);
});

test("of per-process observations the maximum is reported, and shares are summed", () => {
  const processes = [-3, 2, 0].map((value, at) => {
    const instruments = createInstruments();
    instruments.gauge("offset", "What each sees.", [], "farthest").with().set(value);
    instruments.gauge("held", "What each has a part of.").with().set(at);
    return instruments.read();
  });
  const [offset, held] = processes.reduce(addReadings);
  assert.deepEqual([offset?.series, held?.series], [[{ labelValues: [], value: -3 }], [{ labelValues: [], value: 3 }]]);
});
