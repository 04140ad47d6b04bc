// tier: all
/** Sessions: requests that are many, late or aborted, and threads that end or hang. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { getPriority } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Log, LogFields } from "../../../../src/base/index.ts";
import { type Detector, DetectorError } from "../../../../src/server/core/guardrails/index.ts";
import {
  type AskSession,
  answerWith,
  createSessions,
  type SessionsOptions,
} from "../../../../src/server/detectors/inference/index.ts";
import { startSessionProcess } from "../../../../src/server/detectors/inference/session/session-process.ts";
import type { SessionWorker } from "../../../../src/server/detectors/inference/session/session-protocol.ts";
import { startSessionWorker } from "../../../../src/server/detectors/inference/session/session-thread.ts";
import { lookupClassifier, slowClassifier } from "../../../reference/inference/graphs.ts";
import { wholeWords } from "../../../reference/inference/tokenizers.ts";
import { assetsFor, configOf, detect, missing, opened, scannedOf } from "./support.ts";

const folder = missing ? "" : await assetsFor({ after });
const seen = { ended: [] as string[], refused: 0, sessions: () => 0, waiting: () => 0 };

/** Sessions with threads that the test can access. */
function watched(options: SessionsOptions = {}, limits?: Parameters<typeof startSessionWorker>[1]) {
  const workers: SessionWorker[] = [];
  const sessions = createSessions({
    start(spec) {
      const worker = limits === undefined ? startSessionProcess(spec) : startSessionWorker(spec, limits);
      workers.push(worker);
      return worker;
    },
    metrics(readings) {
      Object.assign(seen, readings, { ended: [], refused: 0 });
      return {
        addWorkSeconds() {},
        countEnded: (reason) => void seen.ended.push(reason),
        countRefused() {
          seen.refused += 1;
        },
      };
    },
    ...options,
  });
  return { sessions, workers };
}

const ask = (detector: Detector, text: string, signal: AbortSignal = AbortSignal.timeout(60_000)) =>
  Promise.resolve(detector.detect([scannedOf(text)], [], signal));

const SHORT = "a";
const LONG = "name name name";

/** A classifier whose model runs `rounds` rounds for LONG, and none for SHORT. */
async function turning(rounds: number, options: SessionsOptions = {}) {
  const path = join(folder, `slow-${rounds}`);
  await mkdir(path, { recursive: true });
  const model = join(path, "classify.onnx");
  await writeFile(model, slowClassifier(2, rounds));
  const own = watched(options);
  const config = configOf("classify", folder, { model, labels: ["A", "B"], negative: [], max_tokens: 8, stride: 0 });
  return { ...own, detector: await opened(config, own.sessions), config, model };
}

/** Machines differ tenfold in the duration of a round. */
const roundsInSecond = missing ? 0 : await measuredRounds();

async function measuredRounds() {
  const rounds = 3_000;
  const { detector } = await turning(rounds);
  await ask(detector, SHORT);
  const began = performance.now();
  await ask(detector, LONG);
  return (rounds * 1_000) / (performance.now() - began);
}

/** A classifier that takes about `seconds` for LONG. */
const slow = (seconds: number, options: SessionsOptions = {}) => turning(Math.ceil(roundsInSecond * seconds), options);

test("detectors with the same model share a session, and others have their own", { skip: missing }, async () => {
  const { sessions, workers } = watched();
  const max = await opened(configOf("nlp", folder), sessions);
  const first = await opened(configOf("nlp", folder, { aggregation: "first", stride: 7, max_tokens: 16 }), sessions);
  assert.equal(workers.length, 1);
  assert.notEqual(max.fingerprint, first.fingerprint);
  await opened(configOf("nlp", folder, { threads: 2 }), sessions);
  await opened(configOf("classify", folder), sessions);
  assert.equal(workers.length, 3);
  assert.equal(seen.sessions(), 3);
});

/** Converts like a channel between processes. */
const asJson = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

test("processes without graphs call one that has them and get the same findings", { skip: missing }, async () => {
  const { sessions, workers } = watched();
  const answer = answerWith(sessions);
  const ask: AskSession = async (question, signal) => asJson(await answer(asJson(question), signal));
  const path = join(folder, "shared");
  await mkdir(path, { recursive: true });
  const [model, tokenizer] = [join(path, "nlp.onnx"), join(path, "tokenizer.json")];
  await writeFile(tokenizer, wholeWords(["alice"]).json);
  await writeFile(model, lookupClassifier([...[0, 1, 2, 3].map(() => [9, 0]), [0, 9]]));
  const named = (labels: readonly string[]) => configOf("nlp", folder, { model, tokenizer, labels });
  const config = named(["O", "B-PER"]);
  const text = "Alice \ud83d met “Alice”.";
  const own = await detect(await opened(config, sessions), [text, "", text]);
  assert.deepEqual(
    own.map((found) => found.length),
    [2, 0, 2],
  );
  for (const _ of ["one process", "another"]) {
    const detector = await opened(config, createSessions({ askOtherProcess: ask }));
    assert.deepEqual(await detect(detector, [text, "", text]), own);
  }
  assert.equal(workers.length, 1);
  await assert.rejects(
    opened(named(["O", "B-PER", "I-PER"]), createSessions({ askOtherProcess: ask })),
    /the graph scores 2 labels, and 3 are named/,
  );
});

test("a process that stops answering fails its detector, and a caller that gave up gets the reason", {
  skip: missing,
}, async () => {
  const left = new AbortController();
  let isGone = false;
  const { sessions } = watched();
  const answer = answerWith(sessions);
  const elsewhere: AskSession = (question, signal) => {
    if (question.texts === undefined) return answer(question, signal);
    if (isGone) return Promise.reject(new Error("the channel is closed"));
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const detector = await opened(configOf("nlp", folder), createSessions({ askOtherProcess: elsewhere }));
  const waiting = ask(detector, "a", left.signal);
  left.abort(new Error("left"));
  await assert.rejects(waiting, /^Error: left$/);
  isGone = true;
  await assert.rejects(ask(detector, "a"), (error) => error instanceof DetectorError && error.kind === "failed");
});

/** More than a thread with little memory can hold. */
const HUGE = "ab c ".repeat(1_500_000);

test("a thread that crashes is replaced; its request fails and later ones are answered", {
  skip: missing,
}, async () => {
  const { sessions, workers } = watched({}, { maxOldGenerationSizeMb: 24 });
  const detector = await opened(configOf("nlp", folder), sessions);
  const text = "My name is Alice Müller, I live in Berlin.";
  const [before] = await detect(detector, [text]);
  const under = ask(detector, HUGE);
  const behind = ask(detector, text);
  await assert.rejects(under, (error) => error instanceof DetectorError && error.kind === "failed");
  assert.deepEqual((await behind)[0], before);
  assert.equal(workers.length, 2);
  assert.deepEqual(seen.ended, ["crashed"]);
});

test("a thread that crashes repeatedly is not restarted for a while", { skip: missing }, async () => {
  let now = 0;
  const { sessions, workers } = watched({ now: () => now }, { maxOldGenerationSizeMb: 24 });
  const detector = await opened(configOf("nlp", folder), sessions);
  for (let round = 0; round < 2; round++) {
    await assert.rejects(ask(detector, HUGE), DetectorError);
    await assert.rejects(ask(detector, "a"), /is not started for a while/);
    assert.equal(workers.length, round + 1);
    // A second, then twice as long each time.
    now += 1_000 * 2 ** round;
  }
  assert.equal((await ask(detector, "a")).length, 1);
});

test("a result that is not a number fails the detector and is not an empty result", { skip: missing }, async () => {
  const labels = ["O", "B-PER"];
  const path = join(folder, "numbers");
  await mkdir(path, { recursive: true });
  const [model, tokenizer] = [join(path, "nlp.onnx"), join(path, "tokenizer.json")];
  await writeFile(tokenizer, wholeWords(["alice", "nan", "never", "ever"]).json);
  const special = [0, 1, 2, 3].map(() => [9, 0]);
  const scores = [
    [0, 9],
    [9, Number.NaN],
    [9, Number.NEGATIVE_INFINITY],
    [9, Number.POSITIVE_INFINITY],
  ];
  await writeFile(model, lookupClassifier([...special, ...scores]));
  const { sessions, workers } = watched();
  const detector = await opened(configOf("nlp", folder, { model, tokenizer, labels }), sessions);
  const isTold = (error: unknown) =>
    error instanceof DetectorError &&
    error.kind === "failed" &&
    /returned a value that is not a number/.test(error.message);
  for (const text of ["alice nan", "nan", "alice ever"]) await assert.rejects(ask(detector, text), isTold, text);
  // An impossible label may have minus infinity.
  const [found] = await detect(detector, ["alice never"]);
  assert.deepEqual(
    found?.map(({ start, end, label }) => [start, end, label]),
    [[0, 5, "PERSON"]],
  );
  assert.equal(workers.length, 1);
  assert.deepEqual(seen.ended, []);
});

test("64 requests wait, and one more is refused at once", { skip: missing }, async () => {
  const { detector } = await slow(0.4);
  const under = ask(detector, LONG);
  const controllers = Array.from({ length: 64 }, () => new AbortController());
  const waiting = controllers.map(({ signal }) => ask(detector, SHORT, signal));
  await assert.rejects(ask(detector, SHORT), (error) => error instanceof DetectorError && error.kind === "overloaded");
  assert.equal(seen.refused, 1);
  assert.equal(seen.waiting(), 64);
  for (const controller of controllers) controller.abort(new Error("gone"));
  for (const one of waiting) await assert.rejects(one, /gone/);
  assert.equal(seen.waiting(), 0);
  await under;
});

test("a late request is answered at its timeout, and the thread continues with the next", {
  skip: missing,
}, async () => {
  const { detector, workers } = await slow(0.4);
  const many = Array.from({ length: 2_000 }, () => scannedOf(LONG));
  const under = Promise.resolve(detector.detect(many, [], AbortSignal.timeout(300)));
  await assert.rejects(under, { name: "TimeoutError" });
  assert.equal((await ask(detector, SHORT)).length, 1);
  assert.equal(workers.length, 1);
  assert.deepEqual(seen.ended, []);
});

test("a thread that does not stop is replaced", { skip: missing }, async () => {
  const { detector, workers } = await slow(2, { graceMs: 50 });
  await ask(detector, SHORT);
  await assert.rejects(ask(detector, LONG, AbortSignal.timeout(300)), { name: "TimeoutError" });
  assert.equal((await ask(detector, SHORT)).length, 1);
  assert.equal(workers.length, 2);
  assert.deepEqual(seen.ended, ["stopped"]);
});

test("a slow model leaves the event loop free, and only its thread has a lower priority", {
  skip: missing,
}, async () => {
  const priority = getPriority();
  const { detector } = await slow(1.3);
  let longest = 0;
  let last = performance.now();
  const ticking = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  const began = performance.now();
  await ask(detector, LONG).finally(() => clearInterval(ticking));
  const took = performance.now() - began;
  assert.ok(longest < took / 2, `${longest} ms of ${took} ms`);
  assert.equal(getPriority(), priority);
});

test("an unused session ends once it is idle, and restarts on demand", {
  skip: missing,
}, async () => {
  const { sessions, workers } = watched({ idleMs: 20 });
  const detector = await opened(configOf("nlp", folder), sessions);
  const [worker] = workers;
  // Nothing else keeps this process alive.
  worker?.ref();
  await new Promise((resolve) => worker?.on("exit", () => resolve(undefined)));
  assert.equal(seen.sessions(), 0);
  assert.deepEqual(seen.ended, []);
  assert.equal((await ask(detector, "a")).length, 1);
  assert.equal(workers.length, 2);
});

test("a native crash ends only the model's process: the request fails, and the next one gets a new process", {
  skip: missing,
}, async () => {
  let at = 0;
  const lines: (readonly [string, LogFields | undefined])[] = [];
  const log = {
    debug() {},
    info() {},
    warn() {},
    error: (message: string, fields?: LogFields) => void lines.push([message, fields]),
  };
  const { detector, workers, model } = await slow(1, { log: log as Log, now: () => at });
  assert.equal((await ask(detector, SHORT)).length, 1);
  for (const signal of ["SIGSEGV", "SIGABRT"] as const) {
    const crashing = assert.rejects(ask(detector, LONG), (error) => {
      assert.ok(error instanceof DetectorError);
      assert.equal(error.kind, "failed");
      assert.match(error.message, new RegExp(`the process ended \\(${signal}\\)`));
      return true;
    });
    process.kill(workers.at(-1)?.pid ?? -1, signal);
    await crashing;
    assert.equal((await ask(detector, SHORT)).length, 1);
  }
  assert.deepEqual(seen.ended, ["crashed", "crashed"]);
  assert.equal(workers.length, 3);
  const ended = async () => {
    const crashes = seen.ended.length;
    process.kill(workers.at(-1)?.pid ?? -1, "SIGKILL");
    while (seen.ended.length === crashes) await new Promise((done) => setImmediate(done));
  };
  // Within a minute of the first line, and a minute later; this one has read nothing.
  at = 60_000;
  await ended();
  at = 120_000;
  const doomed = assert.rejects(ask(detector, LONG), DetectorError);
  await ended();
  await doomed;
  const start = "a model's process ended: waiting requests follow `on_error`; ";
  const again = "its detectors follow `on_error` for 1 s, then the next request starts a new one";
  assert.deepEqual(lines, [
    [`${start}the next request starts a new one`, { model, reason: "the process ended (SIGSEGV)" }],
    [`${start}the next request starts a new one`, { model, reason: "the process ended (SIGKILL)", unlogged: 1 }],
    [`${start}${again}`, { model, reason: "the process ended (SIGKILL)" }],
  ]);
});
