/** Supervised processes: how long one may be silent, and the report about those that end. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createInstruments, type Log, type LogFields, nullLog, programUrl } from "../../../../src/base/index.ts";
import {
  openSupervisor,
  type Supervisor,
  startLivenessChecks,
  watchProgress,
} from "../../../../src/server/workers/index.ts";
import { eventually } from "../../../e2e/support/wait.ts";

const here = (name: string): URL => new URL(name, import.meta.url);
const PROGRAM = programUrl({ source: here("./program.ts"), built: here("./program.js") });

const NOW = Date.parse("2026-11-28T12:00:00Z");

interface Kept {
  readonly supervisor: Promise<Supervisor>;
  readonly errors: readonly LogFields[];
  readonly restarts: () => number;
  readonly broken: string;
  readonly clock: { now: number };
}

async function keepOne(t: TestContext): Promise<Kept> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-workers-"));
  const broken = join(folder, "broken");
  const errors: LogFields[] = [];
  const clock = { now: NOW };
  const log: Log = { ...nullLog, error: (message, fields) => errors.push({ message, ...fields }) };
  const instruments = createInstruments();
  const supervisor = openSupervisor({
    program: PROGRAM,
    count: 1,
    version: "1",
    env: { ...process.env, BROKEN: broken },
    prepare: async () => undefined,
    onEnd: () => undefined,
    now: () => clock.now,
    instruments,
    log,
    reasons: new Set(),
  });
  t.after(async () => {
    await (await supervisor).close();
    await rm(folder, { recursive: true });
  });
  const restarts = (): number => {
    const reading = instruments.read().find(({ name }) => name === "gateway_worker_restarts_total");
    const [only] = reading?.series ?? [];
    return only !== undefined && "value" in only ? only.value : 0;
  };
  return { supervisor, errors, restarts, broken, clock };
}

test("a silent process is judged by its processor time", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const bounds = { maxSilentChecks: 30, maxBusyMs: 300_000 };
  const judge = (perLook: number | undefined, looks: number, hear = 0): string | undefined => {
    let used = 0;
    let reason: string | undefined;
    const life = watchProgress(
      { everyMs: 1_000, limits: () => bounds, processorTimeMs: () => (perLook === undefined ? undefined : used) },
      (result) => {
        reason = result;
      },
    );
    for (let look = 1; look <= looks && reason === undefined; look += 1) {
      used += perLook ?? 0;
      t.mock.timers.tick(1_000);
      if (hear > 0 && look % hear === 0) life.recordSign();
    }
    life.end();
    return reason;
  };
  // Three percent of a processor, for an hour of clock time.
  assert.equal(judge(30, 3_600), undefined);
  assert.equal(judge(0, 29), undefined);
  assert.equal(judge(0, 30), "it has not responded for 30 s");
  assert.equal(judge(undefined, 30), "it has not responded for 30 s");
  assert.equal(judge(undefined, 300, 10), undefined);
  assert.equal(judge(1_000, 400), "it has not responded while it used 300 s of a processor");
  assert.equal(judge(1_000, 4_000, 100), undefined);
});

test("a process that serves and then hangs is killed, and the log says why", async (t) => {
  const { supervisor, errors } = await keepOne(t);
  const [worker] = (await supervisor).serving();
  assert.ok(worker);
  process.kill(worker.pid, "SIGSTOP");
  const [line] = await eventually("its end", () => errors.length > 0 && errors);
  assert.deepEqual(
    [line?.["message"], line?.["reason"]],
    ["a worker process is stopped", "it has not responded for 10 s"],
  );
});

test("workers that can be started serve; if none can, the start fails with the cause", async (t) => {
  const log: LogFields[] = [];
  const open = async (fails: (number: number) => boolean): Promise<Supervisor> =>
    openSupervisor({
      program: PROGRAM,
      count: 3,
      version: "1",
      env: process.env,
      async prepare({ number }) {
        if (fails(number)) throw new Error("the configuration does not compile there: a key");
      },
      onEnd: () => undefined,
      now: () => NOW,
      instruments: createInstruments(),
      log: { ...nullLog, error: (message, fields) => log.push({ message, ...fields }) },
      reasons: new Set(),
    });
  await assert.rejects(
    open(() => true),
    /the configuration does not compile there: a key/,
  );
  const some = await open((number) => number === 2);
  t.after(() => some.close());
  assert.deepEqual(
    some.serving().map(({ number }) => number),
    [1, 3],
  );
  assert.ok(log.some(({ reason }) => /could not begin to serve: the configuration does not/.test(String(reason))));
});

test("the log says how a worker ended, and each failed restart is counted", async (t) => {
  const { supervisor, errors, restarts, broken, clock } = await keepOne(t);
  const kept = await supervisor;
  const [worker] = kept.serving();
  assert.ok(worker);
  assert.equal(restarts(), 0);
  assert.deepEqual(kept.status(), { wanted: 1, serving: 1, restarts: 0, recentEnds: 0, lastEnd: undefined });
  await writeFile(broken, "");
  process.kill(worker.pid, "SIGKILL");
  const failed = await eventually("two that did not start", () => {
    const found = errors.filter(({ message }) => message === "a worker could not be replaced; this will be retried");
    return found.length >= 2 && found;
  });
  const ended = errors.find(({ message }) => message === "a worker ended; another one replaces it");
  assert.equal(ended?.["by"], "SIGKILL");
  assert.match(String(ended?.["hint"]), /memory limit/);
  assert.match(String(failed[0]?.["error"]), /worker 1 ended while it started \(status 7\)/);
  assert.ok(restarts() >= 2, `${restarts()}`);
  const { wanted, serving, recentEnds, lastEnd } = kept.status();
  assert.deepEqual([wanted, serving, recentEnds, lastEnd], [1, 0, 1, { at: NOW, by: "SIGKILL" }]);
  clock.now = NOW + 15 * 60_000;
  assert.equal(kept.status().recentEnds, 0);
});

test("a supervisor that was delayed itself kills no worker for it", async () => {
  let isSilent = false;
  const looks = startLivenessChecks({ everyMs: 2, maxSilentChecks: 10 }, () => {
    isSilent = true;
  });
  const until = performance.now() + 200;
  while (performance.now() < until);
  // After one check the others' messages are read.
  await nextTurn();
  assert.ok(!isSilent);
  looks.recordSign();
  await eventually("the end of patience", () => isSilent);
  looks.end();
});
