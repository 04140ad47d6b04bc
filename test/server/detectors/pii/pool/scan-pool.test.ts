/** Long texts are read by threads: the same findings in bounded time, whatever happens to a thread. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { DetectorConfig } from "../../../../../src/server/core/config/index.ts";
import {
  type Detection,
  DetectorError,
  type DetectorInput,
  MAX_RAW_FINDINGS,
} from "../../../../../src/server/core/guardrails/index.ts";
import {
  createPiiDetector,
  type PoolOptions,
  type ScanPool,
  UNITS_AT_ONCE,
} from "../../../../../src/server/detectors/pii/index.ts";
import { eventually, within } from "../../../../e2e/support/wait.ts";
import { configOf } from "../configs.ts";
import { watchedPool } from "./threads.ts";

const never = new AbortController().signal;

const scanned = (text: string): DetectorInput => ({
  segment: { kind: "user", text, ref: "", turn: 0, isReadOnly: false },
  windows: undefined,
});

const NUMBER = "4111 1111 1111 1111";
const ofUnits = (units: number): string => `${"nothing of note. ".repeat(units / 17)}${NUMBER}`;
/** Takes a moment of a thread's time per megabyte, and none of this thread's. */
const SLOW = configOf({
  recognizers: ["Slow"],
  custom_recognizers: [
    {
      name: "Slow",
      entity: "SLOW",
      case_sensitive: false,
      patterns: [{ name: "slow", regex: "(?:[a-z]+ ){40,80}x", score: 0.5 }],
    },
  ],
});

function opened(options: PoolOptions, config: DetectorConfig = configOf({ entities: ["CREDIT_CARD"] })) {
  const watched = watchedPool(options);
  after(() => watched.pool.close());
  const built = createPiiDetector(config, "pii", true, watched.pool);
  assert.ok(built.kind === "detector");
  const { detector } = built;
  const read = async (texts: readonly string[], signal = never): Promise<Detection> =>
    detector.detect(texts.map(scanned), [], signal);
  return { ...watched, detector, read };
}

const isError =
  (kind: DetectorError["kind"]) =>
  (error: unknown): boolean =>
    error instanceof DetectorError && error.kind === kind;

test("short texts are scanned synchronously and longer ones on a thread, with the same findings", async () => {
  const { detector, threads } = opened({ threads: 2 });
  const half = ofUnits(UNITS_AT_ONCE / 2).slice(-UNITS_AT_ONCE / 2);
  const few = detector.detect([half, half].map(scanned), [], never);
  assert.ok(!(few instanceof Promise));
  assert.deepEqual([few.length, few[0]?.length, threads.length], [2, 1, 0]);
  const texts = [half, `${half} `, "", ofUnits(200_000), half].map(scanned);
  const many = detector.detect(texts, [], never);
  assert.ok(many instanceof Promise);
  assert.deepEqual(await many, detector.detectSync?.(texts));
  const windows = [{ start: 0, end: 9 }];
  const outside = await detector.detect([{ ...scanned(ofUnits(3_000)), windows }], [], never);
  assert.deepEqual(outside, [[]]);
});

test("a text with too many matches is refused without being read to its end, on a thread and without one", async () => {
  const { detector, read } = opened({ threads: 1 }, configOf({ entities: ["EMAIL_ADDRESS"] }));
  const text = "ab@example.com ".repeat(2 * MAX_RAW_FINDINGS + 1);
  await assert.rejects(read([text]), isError("excess"));
  assert.throws(() => detector.detectSync?.([scanned(text)]), isError("excess"));
  const [found] = await read(["ab@example.com ".repeat(MAX_RAW_FINDINGS)]);
  assert.equal(found?.length, MAX_RAW_FINDINGS);
});

test("calls take turns, so a short one does not wait for all of a long one, and a long text leaves a thread free", async () => {
  const one = opened({ threads: 1 });
  const order: string[] = [];
  const long = one.read(Array.from({ length: 40 }, () => ofUnits(60_000))).then(() => order.push("long"));
  await one.read([ofUnits(3_000)]).then(() => order.push("short"));
  await long;
  assert.deepEqual(order, ["short", "long"]);

  const two = opened({ threads: 2 }, SLOW);
  const leaving = new AbortController();
  const longs = [1, 2, 3].map(() => two.read([ofUnits(4 << 20)], leaving.signal));
  const ended = Promise.allSettled(longs);
  await within("a short text beside three long ones", two.read([ofUnits(3_000)]), 30_000);
  assert.equal(two.longReads.most, 1);
  leaving.abort(new Error("left"));
  await ended;
});

test("text above the limit is refused, a single call is always accepted, and memory is released", async () => {
  const { read, counted } = opened({ threads: 1, maxQueued: 100_000 });
  const first = read([ofUnits(1 << 20)]);
  const second = read([ofUnits(50_000)]);
  await assert.rejects(read([ofUnits(60_000)]), isError("overloaded"));
  assert.equal(counted.refused, 1);
  assert.deepEqual(
    (await Promise.all([first, second])).map(([found]) => found?.length),
    [1, 1],
  );
  assert.equal(counted.queued(), 0);
  assert.equal((await read([ofUnits(60_000)]))[0]?.length, 1);
});

test("a thread that does not answer in time is stopped and replaced, and the request fails at once", async () => {
  const { read, counted, threads } = opened({ threads: 1, graceMs: 50 }, SLOW);
  const limit = new AbortController();
  const reading = read([ofUnits(24 << 20)], limit.signal);
  const waiting = read([ofUnits(3_000)]);
  const late = new DetectorError("timeout", "it took too long");
  limit.abort(late);
  await assert.rejects(reading, late);
  assert.equal((await within("what waited", waiting, 30_000)).length, 1);
  assert.deepEqual([counted.stopped, counted.crashed, threads.length], [1, 0, 2]);
});

test("a caller that disconnects costs no thread if the text is nearly read", async () => {
  const { read, counted, threads } = opened({ threads: 1, graceMs: 20_000 });
  await read([ofUnits(3_000)]);
  const leaving = new AbortController();
  const reading = read([ofUnits(100_000)], leaving.signal);
  leaving.abort(new Error("left"));
  await assert.rejects(reading, /left/);
  assert.equal((await read([ofUnits(3_000)])).length, 1);
  assert.deepEqual([counted.stopped, threads.length, counted.queued()], [0, 1, 0]);
  assert.ok(counted.busySeconds > 0);
});

test("if a thread dies its text fails, others continue, and it is replaced with growing delay", async () => {
  const { read, counted, threads } = opened({ threads: 1 }, SLOW);
  for (const round of [1, 2, 3]) {
    const reading = read([ofUnits(24 << 20)]);
    const other = round === 3 ? read([ofUnits(3_000)]) : undefined;
    await eventually("a thread", () => threads.length === round);
    threads.at(-1)?.terminate();
    await assert.rejects(reading, isError("failed"));
    if (other !== undefined) assert.equal((await within("the other text", other, 30_000)).length, 1);
  }
  assert.deepEqual([counted.crashed, counted.stopped, threads.length], [3, 0, 4]);
});

test("idle threads end, except one while there are recognizers in use", async () => {
  const { read, counted, pool, threads } = opened({ threads: 2, idleMs: 100 });
  pool.warmUp();
  assert.equal(counted.threads(), 1);
  await Promise.all([read([ofUnits(64 << 10)]), read([ofUnits(64 << 10)]), read([ofUnits(64 << 10)])]);
  // Threads that were ever started: on a busy machine one may have been idle for long enough by now.
  assert.equal(threads.length, 2);
  await eventually("one of them ended", () => counted.threads() === 1);
  assert.equal((await read([ofUnits(3_000)])).length, 1);
  assert.deepEqual([counted.threads(), counted.stopped, counted.crashed], [1, 0, 0]);
});

test("a closed pool scans nothing more", async () => {
  const { read, pool } = opened({ threads: 1 });
  const reading = read([ofUnits(1 << 20)]);
  const waiting = read([ofUnits(3_000)]);
  pool.close();
  await assert.rejects(reading, isError("failed"));
  await assert.rejects(waiting, isError("failed"));
  await assert.rejects(read([ofUnits(3_000)]), isError("failed"));
});

/** Separate function, so that no frame of this file refers to the detector. */
async function readOnce(pool: ScanPool, config: DetectorConfig): Promise<void> {
  const built = createPiiDetector(config, "pii", true, pool);
  assert.ok(built.kind === "detector");
  const found = await built.detector.detect([scanned(ofUnits(3_000))], [], never);
  assert.equal(found[0]?.length, 1);
}

test("recognizers of another configuration are compiled separately and dropped once no detector uses them", async () => {
  const { pool, posted, read } = opened({ threads: 1 });
  await read([ofUnits(3_000)]);
  await readOnce(pool, configOf({ entities: ["CREDIT_CARD", "IBAN_CODE"] }));
  const compiled = posted.flatMap((it) => (it.kind === "compile" ? it.scan : []));
  assert.equal(new Set(compiled).size, 2);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  await eventually("the second forgotten", () => {
    collect();
    return posted.some((it) => it.kind === "forget" && it.scan === compiled[1]);
  });
  assert.equal((await read([ofUnits(3_000)]))[0]?.length, 1);
  assert.ok(!posted.some((it) => it.kind === "forget" && it.scan === compiled[0]));
});
