/** Concurrent map: order of results, limit, and the effect of a failure. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { mapWithLimit } from "../../src/base/index.ts";

const { signal: never } = new AbortController();

test("results are in item order, and no more calls run at once than allowed", async () => {
  let running = 0;
  let most = 0;
  const doubled = await mapWithLimit([1, 2, 3, 4, 5, 6, 7], 3, never, async (item) => {
    running += 1;
    most = Math.max(most, running);
    for (let turn = 0; turn < 8 - item; turn++) await Promise.resolve();
    running -= 1;
    return 2 * item;
  });
  assert.deepEqual(doubled, [2, 4, 6, 8, 10, 12, 14]);
  assert.equal(most, 3);
  assert.deepEqual(await mapWithLimit([], 3, never, async () => 1), []);
});

test("the first failure aborts the other calls, starts no further one and is the reason", async () => {
  const begun: number[] = [];
  let aborted: unknown;
  const mapping = mapWithLimit([0, 1, 2, 3], 2, never, async (item, signal) => {
    begun.push(item);
    if (item === 1) throw new Error("broken");
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    aborted = signal.reason;
  });
  await assert.rejects(mapping, /broken/);
  assert.deepEqual(begun, [0, 1]);
  assert.match(String(aborted), /broken/);
});

test("an abort by the caller ends all calls with its reason", async () => {
  const caller = new AbortController();
  const mapping = mapWithLimit([0, 1], 2, caller.signal, async (_, signal) => {
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  });
  caller.abort(new Error("the caller left"));
  await assert.rejects(mapping, /the caller left/);
  await assert.rejects(
    mapWithLimit([0], 2, caller.signal, async () => undefined),
    /the caller left/,
  );
});
