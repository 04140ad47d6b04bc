/** Which exchanged tokens are kept, and how many exchanges are under way. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { createExchangedTokens } from "../../../src/server/credentials/exchanged-tokens.ts";
import { createFifoSemaphore } from "../../../src/server/credentials/fifo-semaphore.ts";

const kept = (value: string, principal = "p", until = 100) => ({ value, until, principal });

test("a token is found until its end, and another may take its place", () => {
  const tokens = createExchangedTokens<string>();
  tokens.keep("k", kept("a"));
  assert.equal(tokens.find("k", 99), "a");
  assert.equal(tokens.find("other", 0), undefined);
  tokens.keep("k", kept("c"));
  assert.equal(tokens.find("k", 0), "c");
  assert.equal(tokens.find("k", 100), undefined);
  assert.equal(tokens.size(), 0);
});

test("one caller has a hundred at most, and of all callers those go that were used longest ago", () => {
  const tokens = createExchangedTokens<string>();
  for (let at = 0; at < 150; at++) tokens.keep(`k${at}`, kept(`v${at}`, "many"));
  assert.equal(tokens.size(), 100);
  assert.equal(tokens.find("k49", 0), undefined);
  assert.equal(tokens.find("k50", 0), "v50");
  for (let at = 0; at < 9_900; at++) tokens.keep(`o${at}`, kept("v", `p${at}`));
  assert.equal(tokens.size(), 10_000);
  tokens.keep("one more", kept("v", "q"));
  assert.equal(tokens.size(), 10_000);
  assert.equal(tokens.find("k51", 0), undefined, "k50 was used since");
  assert.equal(tokens.find("k50", 0), "v50");
  tokens.keep("k50", kept("w", "another"));
  assert.equal(tokens.find("k50", 0), "w");
  assert.equal(tokens.size(), 10_000);
});

test("so many work at once, the others in their order, each for a time; one that fails makes room", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  const turns = createFifoSemaphore({ atOnce: 2, waiting: 2, limitMs: 1_000 });
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const work = (at: number) =>
    turns.take(
      () =>
        new Promise<number>((resolve, reject) => {
          begun.push(at);
          ends[at] = () => (at === 0 ? reject(new Error("failed")) : resolve(at));
        }),
    );
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  };
  const all = [0, 1, 2, 3].map(work);
  await settle();
  assert.deepEqual(begun, [0, 1]);
  await assert.rejects(work(4), /too many wait/);
  ends[0]?.();
  await assert.rejects(async () => all[0], /failed/);
  await settle();
  assert.deepEqual(begun, [0, 1, 2]);
  mock.timers.tick(1_000);
  await assert.rejects(async () => all[3], /no turn within 1 s/);
  ends[1]?.();
  ends[2]?.();
  assert.deepEqual(await Promise.all([all[1], all[2]]), [1, 2]);
  const later = work(5);
  await settle();
  ends[5]?.();
  assert.equal(await later, 5);
});
