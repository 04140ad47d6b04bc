/** Writing of applied rows: one batch at a time, gathered, complete. The test completes each write of the store. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  createStateWriter,
  type StateWriter,
  type WrittenPosition,
} from "../../../../src/server/cluster/consensus/state-writer.ts";
import type { StateStore } from "../../../../src/server/cluster/storage/index.ts";
import type { Mutation } from "../../../../src/server/core/state/index.ts";
import { configuration } from "../support/driver-bench.ts";
import { settled } from "../support/outcome.ts";

const GATHER_MS = 20;

const state = (index: number): WrittenPosition => ({
  applied: { index, term: 1, now: 0 },
  digest: String(index).padStart(32, "0"),
  configuration: configuration("a"),
});
const put = (key: string, value = "1"): Mutation => ({ key, value });

interface ScriptedStore extends StateStore {
  /** Lines such as `3: key/a=1`, at begin and end. */
  readonly written: string[];
  /** Completes the write in flight. */
  end: ((error?: Error) => void) | undefined;
}

function store(generation = 1): ScriptedStore {
  const made: ScriptedStore = {
    generation,
    written: [],
    end: undefined,
    applied: { index: 1, term: 1, now: 0, digest: "" },
    load: () => assert.fail("not read"),
    write(mutations, { index }) {
      assert.equal(made.end, undefined, "a second write began");
      made.written.push(`${index}: ${mutations.map(({ key, value }) => `${key}=${value}`).join(" ")}`);
      return new Promise((resolve, reject) => {
        made.end = (error) => {
          made.end = undefined;
          if (error === undefined) resolve();
          else reject(error);
        };
      });
    },
    writeSnapshot: () => assert.fail("no snapshot"),
    close: () => Promise.resolve(),
  };
  return made;
}

interface Bench {
  readonly writer: StateWriter;
  readonly store: ScriptedStore;
  readonly faults: unknown[];
  drained: number;
  gather(): Promise<void>;
  end(error?: Error): Promise<void>;
}

function bench(t: TestContext): Bench {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const scripted = store();
  const made: Bench = {
    store: scripted,
    faults: [],
    drained: 0,
    writer: createStateWriter({
      store: scripted,
      position: state(1),
      onDrained: () => {
        made.drained += 1;
      },
      onFault: (error) => made.faults.push(error),
    }),
    async gather() {
      t.mock.timers.tick(GATHER_MS);
      await settled();
    },
    async end(error) {
      assert.ok(scripted.end !== undefined, "no write is in flight");
      scripted.end(error);
      await settled();
    },
  };
  return made;
}

test("changes in a short time are written together, each row once with its last value", async (t) => {
  const { writer, store: disk, gather, end } = bench(t);
  writer.add([put("a", "old"), put("b")], state(2));
  writer.add([put("a", "new"), { key: "b", value: undefined }], state(3));
  assert.deepEqual(disk.written, []);
  await gather();
  assert.deepEqual(disk.written, ["3: a=new b=undefined"]);
  assert.equal(writer.position().applied.index, 1, "not there before it has ended");
  await end();
  assert.equal(writer.position().applied.index, 3);
});

test("changes during a write go into the next one", async (t) => {
  const { writer, store: disk, gather, end } = bench(t);
  writer.add([put("a")], state(2));
  await gather();
  writer.add([put("b")], state(3));
  await gather();
  assert.deepEqual(disk.written, ["2: a=1"]);
  await end();
  await gather();
  assert.deepEqual(disk.written, ["2: a=1", "3: b=1"]);
});

test("an entry that changes no row still advances the applied index", async (t) => {
  const { writer, store: disk, gather } = bench(t);
  writer.add([], state(2));
  await gather();
  assert.deepEqual(disk.written, ["2: "]);
});

test("a large batch is written at once, and applying pauses above the limit until it is written", async (t) => {
  const made = bench(t);
  const { writer, store: disk } = made;
  writer.add([put("a", "x".repeat(1024 * 1024))], state(2));
  assert.equal(disk.written.length, 1);
  assert.equal(writer.mayApply(), true);
  for (let at = 0; at < 16; at += 1) writer.add([put(`b${at}`, "x".repeat(1024 * 1024))], state(3 + at));
  assert.equal(writer.mayApply(), false);
  await made.end();
  assert.equal(made.drained, 0, "what paused it is still being written");
  assert.equal(writer.mayApply(), true);
  await made.end();
  assert.equal(made.drained, 1);
});

test("flush writes pending changes without waiting for more", async (t) => {
  const { writer, store: disk, gather, end } = bench(t);
  writer.add([put("a")], state(2));
  await gather();
  writer.add([put("b")], state(3));
  let isFlushed = false;
  const flushed = writer.flush().then(() => {
    isFlushed = true;
  });
  await end();
  assert.deepEqual(disk.written, ["2: a=1", "3: b=1"]);
  assert.equal(isFlushed, false);
  await end();
  await flushed;
  assert.equal(writer.position().applied.index, 3);
});

test("work between writes runs when none is in flight, and none begins meanwhile", async (t) => {
  const { writer, store: disk, gather, end } = bench(t);
  writer.add([put("a")], state(2));
  await gather();
  const steps: string[] = [];
  let finish: () => void = () => undefined;
  const first = writer.runExclusive(async (input) => {
    assert.equal(input, disk);
    steps.push(`begins at ${writer.position().applied.index}`);
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    steps.push("ends");
  });
  const second = writer.runExclusive(async () => {
    steps.push("second");
  });
  await settled();
  assert.deepEqual(steps, []);
  await end();
  assert.deepEqual(steps, ["begins at 2"]);
  writer.add([put("b")], state(3));
  await gather();
  assert.equal(disk.written.length, 1);
  finish();
  await Promise.all([first, second]);
  assert.deepEqual(steps, ["begins at 2", "ends", "second"]);
  await gather();
  assert.deepEqual(disk.written, ["2: a=1", "3: b=1"]);
});

test("failing work is reported to its caller and blocks nothing", async (t) => {
  const { writer, store: disk, gather } = bench(t);
  await assert.rejects(
    writer.runExclusive(async () => {
      throw new Error("of the work");
    }),
    /of the work/,
  );
  writer.add([put("a")], state(2));
  await gather();
  assert.equal(disk.written.length, 1);
});

test("a replacement drops pending changes, and later ones go to the new store", async (t) => {
  const { writer, store: disk, gather } = bench(t);
  writer.add([put("a")], state(2));
  const next = store(2);
  let finish: () => void = () => undefined;
  const replaced = writer.replace(async () => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return { store: next, position: state(9) };
  });
  await settled();
  writer.add([put("b")], state(10));
  await gather();
  assert.deepEqual([disk.written, next.written], [[], []]);
  finish();
  await replaced;
  assert.equal(writer.position().applied.index, 9);
  await gather();
  assert.deepEqual([disk.written, next.written], [[], ["10: b=1"]]);
});

test("after a failed write no more is written, and the failure is reported once", async (t) => {
  const { writer, store: disk, faults, gather, end } = bench(t);
  writer.add([put("a")], state(2));
  await gather();
  writer.add([put("b")], state(3));
  await end(new Error("no space left on device"));
  await gather();
  await writer.flush();
  assert.deepEqual(disk.written, ["2: a=1"]);
  assert.equal(faults.length, 1);
  assert.equal(writer.position().applied.index, 1);
});
