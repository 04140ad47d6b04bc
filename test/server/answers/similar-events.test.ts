/** Events similar to the previous one are not parsed; output and verdicts are the same as if they were. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { inspectStream } from "../../../src/server/answers/index.ts";
import { openStreamTexts, SseSplitter } from "../../../src/server/core/dialects/index.ts";
import { type Detector, JudgedAnswer } from "../../../src/server/core/guardrails/index.ts";
import type { Guard } from "../../../src/server/snapshot/index.ts";
import { countedMetrics, guardOf, occasion } from "../dataplane/support/guards.ts";
import { chunksOf, disturbed, FORMS, type Made, one, randomOf } from "./support/random-streams.ts";

const SEED = Number(process.env["GATEWAY_SEED"] ?? Date.now() % 1_000_000);
const STREAMS = Number(process.env["GATEWAY_STREAMS"] ?? 400);

const PII = {
  type: "pii",
  prefilter: "pure",
  apply_to: ["output"],
  entities: ["EMAIL_ADDRESS", "IBAN_CODE", "US_SSN"],
};
const OWN = { ...PII, name: "own" };
const HIDE = { name: "hide", action: "redact" };
const NO_SSN = { name: "no-ssn", when: '"pii/US_SSN" in labels', action: "deny" };

/** Finds `xx`, synchronously or later. Without a horizon it reads a sliding window. */
function finds(isLater: boolean, hasHorizon: boolean): Detector {
  return {
    name: "own",
    type: "pii",
    fingerprint: "f",
    readsContext: [],
    horizon: hasHorizon
      ? { reaches: [{ name: "r", maxBytes: 3, rightBytes: 0, mayContain: (it) => it === 120, prefix: "" }] }
      : undefined,
    detect: async (texts) => {
      if (isLater) await new Promise((resolve) => setImmediate(resolve));
      return texts.map(({ segment: { text } }) =>
        [...text.matchAll(/xx/g)].map(({ index }) => ({
          start: index,
          end: index + 2,
          category: "safety",
          label: "XX",
          score: 1,
          recognizer: "",
          trace: undefined,
        })),
      );
    },
  };
}

const GUARDS: readonly Guard[] = [
  guardOf({ detectors: [PII], rules: [NO_SSN, HIDE] }),
  guardOf({ detectors: [PII], rules: [HIDE], stream: { live_horizon: false, scan_chunk_bytes: 1 } }),
  guardOf({ detectors: [PII], rules: [HIDE], stream: { max_hold_bytes: 16 } }),
  guardOf({ detectors: [PII], rules: [HIDE], stream: { max_hold_bytes: 16, on_hold_overflow: "buffer" } }),
  guardOf({ detectors: [PII], rules: [NO_SSN], stream: { scan_chunk_bytes: 64 } }),
  guardOf({ detectors: [PII], rules: [{ name: "note", action: "annotate" }, HIDE] }),
  guardOf({ detectors: [PII, OWN], rules: [HIDE] }, { own: finds(false, true) }),
  guardOf({ detectors: [PII, OWN], rules: [NO_SSN, HIDE] }, { own: finds(true, true) }),
  guardOf({ detectors: [PII, OWN], rules: [HIDE] }, { own: finds(true, false) }),
];

interface Step {
  readonly chunk: Buffer;
  /** The guard finishes before the next chunk, and time passes. */
  readonly isAwaited: boolean;
  readonly passesMs: number;
}

interface Outcome {
  readonly shown: string;
  readonly failure: string;
  readonly held: readonly number[];
  readonly judged: unknown;
  readonly counted: unknown;
  readonly similar: number;
}

const NONE: ReadonlySet<string> = new Set();

/** No verdict is cached: rules are evaluated for each stretch. */
const asking = (guard: Guard): Guard => ({
  ...guard,
  open(input) {
    const { judge } = guard.open(input);
    return { judge: (inspected) => judge({ ...inspected, pending: inspected.pending ?? NONE }) };
  },
});

async function driven(
  { dialect, route }: Made,
  guard: Guard,
  steps: readonly Step[],
  { mock: { timers } }: TestContext,
  isDirect: boolean,
): Promise<Outcome> {
  const { metrics, counted } = countedMetrics();
  const answer = new JudgedAnswer(guard, occasion(), new AbortController().signal);
  const splitter = new SseSplitter();
  const held: number[] = [];
  let shown = "";
  let failure = "";
  let similar = 0;
  const texts = openStreamTexts(dialect, route);
  const failed = (error: unknown): void => {
    failure ||= String(error);
  };
  const stream = inspectStream({
    answer,
    texts,
    metrics,
    show: (bytes) => {
      shown += bytes.toString("latin1");
    },
    woke: () => undefined,
    failed,
  });
  const push = (chunk: Buffer): Promise<unknown> => {
    const pending: Promise<void>[] = [];
    const note = (done: void | Promise<void>): void => {
      if (done instanceof Promise) pending.push(done);
    };
    if (isDirect) {
      splitter.visitEvents(
        chunk,
        (event) => note(stream.push(event)),
        (bytes, at) => {
          const event = stream.pushSimilar?.(bytes, at);
          if (event === undefined) return at;
          similar++;
          note(event.done);
          return event.end;
        },
      );
    } else for (const event of splitter.push(chunk)) note(stream.push(event));
    return Promise.all(pending);
  };
  const late: Promise<unknown>[] = [];
  try {
    for (const { chunk, isAwaited, passesMs } of steps) {
      const done = push(chunk);
      done.catch(failed);
      late.push(done);
      if (!isAwaited) continue;
      await Promise.all(late.splice(0));
      timers.tick(passesMs);
      await Promise.resolve();
      held.push(stream.heldBytes);
    }
    await Promise.all(late);
    await stream.end();
  } catch (error) {
    failed(error);
  }
  stream.close();
  const { guarded, ...rest } = answer.judged;
  return { shown, failure, held, judged: [guarded, rest, answer.segments, answer.isRewritten], counted, similar };
}

test("random streams of all forms are shown and judged alike, whether events are compared or parsed", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  t.diagnostic(`seed ${SEED}`);
  let similar = 0;
  let rewritten = 0;
  for (let run = 0; run < STREAMS; run++) {
    const random = randomOf(SEED + run);
    const made = one(random, FORMS)(random);
    const guard = one(random, GUARDS);
    const isHurried = random() < 0.3;
    const chunks = chunksOf(random, disturbed(random, made.events));
    const steps = chunks.map((chunk) => ({
      chunk,
      isAwaited: !isHurried || random() < 0.3,
      passesMs: random() < 0.15 ? 10 : 0,
    }));
    const parsed = await driven(made, asking(guard), steps, t, false);
    const compared = await driven(made, guard, steps, t, true);
    similar += compared.similar;
    if (parsed.shown !== steps.map(({ chunk }) => chunk.toString("latin1")).join("")) rewritten++;
    assert.deepEqual({ ...compared, similar: 0 }, parsed, `GATEWAY_SEED=${SEED + run} GATEWAY_STREAMS=1`);
  }
  t.diagnostic(`${similar} events compared, ${rewritten} of ${STREAMS} streams rewritten`);
  assert.ok(STREAMS < 100 || (similar > STREAMS && rewritten > STREAMS / 5), `${similar}, ${rewritten}`);
});
