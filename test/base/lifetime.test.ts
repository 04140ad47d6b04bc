/** Lifetime: closing order, timeouts, failures that do not hide each other, use with and without `await using`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Lifetime } from "../../src/base/lifetime.ts";

test("owned objects are closed in reverse order, each after the previous one has closed", async () => {
  const trace: string[] = [];
  const lifetime = new Lifetime();
  for (const name of ["storage", "cluster", "door"]) {
    lifetime.own(name, name, async (it) => {
      trace.push(`${it} closes`);
      await Promise.resolve();
      trace.push(`${it} closed`);
    });
  }
  await lifetime.close();
  assert.deepEqual(trace, [
    "door closes",
    "door closed",
    "cluster closes",
    "cluster closed",
    "storage closes",
    "storage closed",
  ]);
});

test("own returns the same object, and passes it to its closer", async () => {
  const thing = { isOpen: true };
  const lifetime = new Lifetime();
  assert.equal(
    lifetime.own("thing", thing, (it) => {
      it.isOpen = false;
    }),
    thing,
  );
  await lifetime.close();
  assert.equal(thing.isOpen, false);
});

test("the end of an `await using` block closes, also if the block throws, and its error is kept", async () => {
  const trace: string[] = [];
  await assert.rejects(async () => {
    await using lifetime = new Lifetime();
    lifetime.own("door", "door", (it) => trace.push(it));
    throw new Error("opening the next one failed");
  }, /opening the next one failed/);
  assert.deepEqual(trace, ["door"]);
});

test("closing twice closes once, and both callers wait for the end", async () => {
  let closed = 0;
  const lifetime = new Lifetime();
  lifetime.own("door", undefined, async () => {
    await new Promise((resolve) => setImmediate(resolve));
    closed++;
  });
  await Promise.all([lifetime.close(), lifetime.close()]);
  assert.equal(closed, 1);
  await lifetime.close();
  assert.equal(closed, 1);
});

test("failures, thrown or rejected, are reported by name, and the others are still closed", async () => {
  const trace: string[] = [];
  const lifetime = new Lifetime({ onFailure: (name, error) => trace.push(`${name}: ${(error as Error).message}`) });
  lifetime.own("storage", undefined, () => trace.push("storage closed"));
  lifetime.own("cluster", undefined, () => Promise.reject(new Error("rejected")));
  lifetime.own("door", undefined, () => {
    throw new Error("thrown");
  });
  await lifetime.close();
  assert.deepEqual(trace, ["door: thrown", "cluster: rejected", "storage closed"]);
});

test("without a callback all failures are thrown together at the end", async () => {
  const lifetime = new Lifetime();
  lifetime.own("storage", undefined, () => Promise.reject(new Error("disk")));
  lifetime.own("door", undefined, () => Promise.reject(new Error("socket")));
  await assert.rejects(lifetime.close(), (error: unknown) => {
    assert.ok(error instanceof AggregateError);
    assert.deepEqual(
      error.errors.map((each: Error) => each.message),
      ["socket", "disk"],
    );
    return true;
  });
});

test("a callback that throws does not keep the rest from closing, and its error is kept", async () => {
  let isClosed = false;
  const lifetime = new Lifetime({
    onFailure: () => {
      throw new Error("the log is gone");
    },
  });
  lifetime.own("storage", undefined, () => {
    isClosed = true;
  });
  lifetime.own("door", undefined, () => Promise.reject(new Error("socket")));
  await assert.rejects(lifetime.close(), (error: AggregateError) => /the log is gone/.test(error.errors[0].message));
  assert.equal(isClosed, true);
});

test("a closer that never ends is abandoned at its timeout with an aborted signal, and reported", async () => {
  const trace: string[] = [];
  const lifetime = new Lifetime({
    limitMs: 60_000,
    onFailure: (name, error) => trace.push(`${name}: ${(error as Error).message}`),
  });
  lifetime.own("storage", undefined, () => trace.push("storage closed"));
  lifetime.own(
    "door",
    undefined,
    (_it, signal) => {
      signal.addEventListener("abort", () => trace.push("door told"));
      return new Promise(() => {});
    },
    { limitMs: 5 },
  );
  await lifetime.close();
  assert.deepEqual(trace, ["door told", "door: closing door took longer than 5 ms", "storage closed"]);
});

test("an object owned after closing is refused by name and closed", async () => {
  const lifetime = new Lifetime();
  await lifetime.close();
  let result: () => void = () => {};
  const isClosed = new Promise<void>((resolve) => {
    result = resolve;
  });
  assert.throws(() => lifetime.own("late door", undefined, () => result()), /cannot own late door/);
  await isClosed;
});
