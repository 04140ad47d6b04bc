/** Ticks, and waking of waiters, with the test's time. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createNotifier } from "../../../../src/server/cluster/consensus/notifier.ts";
import { ELECTION_TICKS, startTicker, TICK_MS } from "../../../../src/server/cluster/consensus/ticker.ts";
import { settled } from "../support/outcome.ts";

/** The interval fires every 50 ms of its own; `behind` is the additional advance of the clock. */
function ticking(t: TestContext): {
  readonly ticks: () => number;
  readonly advance: (behindMs?: number) => void;
  readonly stop: () => void;
} {
  t.mock.timers.enable({ apis: ["setInterval", "setTimeout"] });
  let time = 10_000;
  let count = 0;
  const stop = startTicker(
    () => {
      count += 1;
    },
    () => time,
  );
  return {
    ticks: () => count,
    advance(behindMs = 0) {
      time += TICK_MS + behindMs;
      t.mock.timers.tick(TICK_MS);
    },
    stop,
  };
}

test("a tick comes every fifty milliseconds until it is stopped", (t) => {
  const ticker = ticking(t);
  for (let at = 0; at < 5; at += 1) ticker.advance();
  assert.equal(ticker.ticks(), 5);
  ticker.stop();
  ticker.advance();
  assert.equal(ticker.ticks(), 5);
});

test("a timer that is slightly early or late neither doubles nor loses a tick", (t) => {
  const ticker = ticking(t);
  ticker.advance(-1);
  assert.equal(ticker.ticks(), 0);
  ticker.advance(1);
  assert.equal(ticker.ticks(), 2);
});

test("late ticks are delivered together, at most half an election timeout, and only once", (t) => {
  const ticker = ticking(t);
  ticker.advance(3 * TICK_MS);
  assert.equal(ticker.ticks(), 4);
  ticker.advance((ELECTION_TICKS - 3) * TICK_MS);
  assert.equal(ticker.ticks(), 4 + ELECTION_TICKS / 2);
  ticker.advance();
  assert.equal(ticker.ticks(), 4 + ELECTION_TICKS / 2 + 1);
});

test("a process that slept an election timeout or longer ticks once", (t) => {
  for (const missed of [ELECTION_TICKS, 100_000]) {
    const ticker = ticking(t);
    ticker.advance((missed - 1) * TICK_MS);
    assert.equal(ticker.ticks(), 1);
    ticker.advance();
    assert.equal(ticker.ticks(), 2);
    ticker.stop();
    t.mock.timers.reset();
  }
});

test("all current waiters are woken at once, and later ones wait for the next wake", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { wake, next } = createNotifier();
  const woken: string[] = [];
  void next(1_000)
    .then(() => woken.push("first"))
    .then(() => next(1_000))
    .then(() => woken.push("first again"));
  void next(1_000).then(() => woken.push("second"));
  wake();
  await settled();
  assert.deepEqual(woken, ["first", "second"]);
  wake();
  await settled();
  assert.deepEqual(woken, ["first", "second", "first again"]);
});

test("a waiter continues at its timeout, and a timeout in the past does not wait", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { next } = createNotifier();
  const woken: string[] = [];
  void next(100).then(() => woken.push("after 100"));
  void next(-5).then(() => woken.push("at once"));
  t.mock.timers.tick(1);
  await settled();
  assert.deepEqual(woken, ["at once"]);
  t.mock.timers.tick(99);
  await settled();
  assert.deepEqual(woken, ["at once", "after 100"]);
});
