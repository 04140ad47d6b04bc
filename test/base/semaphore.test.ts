/** Semaphore: order, queue limits, and every way in which a wait ends. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { createSemaphore, type WaitLimits } from "../../src/base/index.ts";

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
};

/** Jobs that end on request; job 0 fails. */
function jobsOf(semaphore: ReturnType<typeof createSemaphore>) {
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const start = (at: number, limits?: WaitLimits): Promise<number> =>
    semaphore.run(
      () =>
        new Promise<number>((resolve, reject) => {
          begun.push(at);
          ends[at] = () => (at === 0 ? reject(new Error("failed")) : resolve(at));
        }),
      limits,
    );
  return { begun, start, end: (at: number) => ends[at]?.() };
}

test("two permits allow two holders, and the others follow in order of arrival", async () => {
  const semaphore = createSemaphore({ permits: 2 });
  const { begun, start, end } = jobsOf(semaphore);
  const all = [0, 1, 2, 3].map((at) => start(at));
  await settle();
  assert.deepEqual(begun, [0, 1]);
  assert.deepEqual([semaphore.inUse, semaphore.waiting], [2, 2]);
  end(0);
  await assert.rejects(async () => all[0], /failed/, "a failed job gives its permit back");
  await settle();
  assert.deepEqual(begun, [0, 1, 2]);
  end(2);
  await settle();
  assert.deepEqual(begun, [0, 1, 2, 3]);
  for (const at of [1, 3]) end(at);
  assert.deepEqual(await Promise.all([all[1], all[2], all[3]]), [1, 2, 3]);
  assert.deepEqual([semaphore.inUse, semaphore.waiting], [0, 0]);
});

test("a caller that finds the queue full is refused, and one that timed out leaves the queue", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  const semaphore = createSemaphore({
    permits: 1,
    maxWaiting: 2,
    refusal: (reason) => new Error(`refused: ${reason}`),
  });
  const { begun, start, end } = jobsOf(semaphore);
  const first = start(1);
  const late = start(2, { waitMs: 1_000 });
  const patient = start(3);
  await assert.rejects(start(4), /refused: full/);
  mock.timers.tick(1_000);
  await assert.rejects(late, /refused: late/);
  assert.equal(semaphore.waiting, 1);
  end(1);
  assert.equal(await first, 1);
  await settle();
  assert.deepEqual(begun, [1, 3]);
  end(3);
  assert.equal(await patient, 3);
});

test("a caller that aborts leaves the queue with its reason, and an aborted one takes no permit", async () => {
  const semaphore = createSemaphore({ permits: 1 });
  const { begun, start, end } = jobsOf(semaphore);
  const leaving = new AbortController();
  const first = start(1);
  const left = start(2, { signal: leaving.signal });
  const next = start(3);
  leaving.abort(new Error("the caller left"));
  await assert.rejects(left, /the caller left/);
  await assert.rejects(start(4, { signal: leaving.signal }), /the caller left/);
  end(1);
  await first;
  await settle();
  assert.deepEqual(begun, [1, 3]);
  end(3);
  await next;
  assert.equal(semaphore.inUse, 0);
});

test("a free permit is acquired without a promise", () => {
  const semaphore = createSemaphore({ permits: 1 });
  assert.equal(semaphore.acquire(), undefined);
  assert.ok(semaphore.acquire() instanceof Promise);
  semaphore.release();
  assert.deepEqual([semaphore.inUse, semaphore.waiting], [1, 0], "the permit passes to the one that waits");
});
