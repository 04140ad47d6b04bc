/** When a value with a lifetime is fetched: once for all waiting requests, ahead while it is used, not in a flood. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { createRenewedValue, type FetchedValue } from "../../../../src/server/credentials/tokens/renewed-value.ts";

const own = (value: string, lifeMs: number): FetchedValue<string> => ({ value, lifeMs, ageMs: 0, isOwn: true });

function renewing(pauseMs?: number) {
  let now = 0;
  const fetches: { readonly resolve: (it: FetchedValue<string>) => void; readonly reject: (error: Error) => void }[] =
    [];
  const ended: number[] = [];
  const renewed = createRenewedValue<string>({
    fetch: () => new Promise((resolve, reject) => fetches.push({ resolve, reject })),
    pauseOf: () => pauseMs,
    minDropIntervalMs: 1_000,
    clock: { now: () => now, monotonic: () => now },
    random: () => 0,
    onFetched: () => ended.push(0),
    onFailed: (failures) => ended.push(failures),
  });
  /** Runs microtasks, then timers of this duration. */
  const pass = async (ms: number): Promise<void> => {
    now += ms;
    mock.timers.tick(ms);
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  };
  return { renewed, fetches, ended, pass };
}

test("concurrent first requests wait for one fetch, and later ones are answered at once", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { renewed, fetches } = renewing();
  const waiting = [renewed.current(), renewed.current(), renewed.current()];
  assert.equal(fetches.length, 1);
  fetches[0]?.resolve(own("a", 100_000));
  assert.deepEqual(await Promise.all(waiting), ["a", "a", "a"]);
  assert.equal(renewed.current(), "a");
  renewed.close();
});

test("a value in use is renewed at four fifths of its lifetime without waiting; an unused one expires", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  const { renewed, fetches, pass } = renewing();
  const first = renewed.current();
  fetches[0]?.resolve(own("a", 100_000));
  await first;
  await pass(79_000);
  assert.equal(renewed.current(), "a");
  assert.equal(fetches.length, 1);
  await pass(1_000);
  assert.equal(fetches.length, 2);
  assert.equal(renewed.current(), "a", "the old one, until the new one is there");
  fetches[1]?.resolve(own("b", 100_000));
  await pass(0);
  assert.equal(renewed.current(), "b");
  fetches.length = 0;
  await pass(80_000);
  assert.equal(fetches.length, 1, "it was used once more");
  fetches[0]?.resolve(own("c", 100_000));
  await pass(0);
  await pass(95_000);
  assert.equal(fetches.length, 1, "nobody asked since");
  assert.ok(renewed.current() instanceof Promise, "less than five seconds are left");
  fetches[1]?.resolve(own("d", 0));
  assert.equal(await renewed.current(), "d", "used by whoever waited");
  assert.ok(renewed.current() instanceof Promise, "and kept for nobody");
  renewed.close();
});

test("a failure is reported to all waiting and to later requests until the pause ends; a valid value is used meanwhile", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  const { renewed, fetches, ended, pass } = renewing();
  const failed = [renewed.current(), renewed.current()];
  fetches[0]?.reject(new Error("down"));
  for (const one of failed) await assert.rejects(async () => one, /down/);
  assert.throws(() => renewed.current(), /down/);
  await pass(500);
  const second = renewed.current();
  assert.equal(fetches.length, 2);
  fetches[1]?.resolve(own("a", 100_000));
  assert.equal(await second, "a");
  renewed.current();
  await pass(80_000);
  fetches[2]?.reject(new Error("down"));
  await pass(0);
  assert.equal(renewed.current(), "a");
  await pass(500);
  assert.equal(fetches.length, 4, "it is asked again in the background");
  fetches[3]?.resolve(own("b", 100_000));
  await pass(0);
  assert.equal(renewed.current(), "b");
  assert.deepEqual(ended, [1, 0, 1, 0]);
  renewed.close();
});

test("a refused value is dropped once for all requests that used it, and not repeatedly in a flood", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  const { renewed, fetches, pass } = renewing();
  const first = renewed.current();
  fetches[0]?.resolve(own("a", 100_000));
  await first;
  await pass(1_000);
  assert.ok(renewed.drop("a") && renewed.drop("a"));
  const next = renewed.current();
  assert.equal(fetches.length, 2);
  fetches[1]?.resolve(own("b", 100_000));
  assert.equal(await next, "b");
  assert.ok(renewed.drop("a"), "another has taken its place");
  assert.equal(renewed.drop("b"), false, "too soon");
  assert.equal(renewed.current(), "b");
  await pass(1_000);
  assert.ok(renewed.drop("b"));
  renewed.close();
});
