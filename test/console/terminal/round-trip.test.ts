/** Queries to a terminal, and frames held back until they are answered. */

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { ANSWER_LIMIT_MS, createRoundTrip } from "../../../src/console/terminal/round-trip.ts";

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
});

function open() {
  let overs = 0;
  const trip = createRoundTrip(() => {
    overs += 1;
  });
  return { trip, overs: () => overs };
}

test("before its first answer a terminal is asked once and delays nothing", () => {
  const { trip } = open();
  assert.equal(trip.mayQuery, true);
  trip.asked(10);
  assert.deepEqual(
    [trip.mayQuery, trip.isAwaitingAnswer, trip.isAnswerPending, trip.queryEnd],
    [false, false, true, 10],
  );
  mock.timers.tick(ANSWER_LIMIT_MS);
  assert.deepEqual([trip.mayQuery, trip.isAwaitingAnswer], [false, false]);
});

test("after its first answer it is asked one query at a time, and frames wait for the answer", () => {
  const { trip, overs } = open();
  trip.asked(10);
  trip.answered();
  assert.deepEqual([trip.mayQuery, trip.isAwaitingAnswer, trip.isAnswerPending], [true, false, false]);
  trip.asked(20);
  assert.deepEqual([trip.mayQuery, trip.isAwaitingAnswer, trip.isAnswerPending], [false, true, true]);
  trip.answered();
  assert.deepEqual([trip.isAwaitingAnswer, overs()], [false, 2]);
});

test("a late first answer counts, also after giving up", () => {
  const { trip } = open();
  trip.asked(10);
  mock.timers.tick(3_600_000);
  trip.answered();
  trip.asked(20);
  assert.equal(trip.isAwaitingAnswer, true);
});

test("a missing answer delays frames only up to the limit", () => {
  const { trip, overs } = open();
  trip.asked(10);
  trip.answered();
  trip.asked(20);
  mock.timers.tick(ANSWER_LIMIT_MS - 1);
  assert.deepEqual([trip.isAwaitingAnswer, overs()], [true, 1]);
  mock.timers.tick(1);
  assert.deepEqual([trip.isAwaitingAnswer, trip.mayQuery, overs()], [false, true, 2]);
});

test("an unsent query is sent again", () => {
  const { trip } = open();
  trip.asked(10);
  trip.cancelQuery();
  assert.deepEqual([trip.mayQuery, trip.isAnswerPending], [true, false]);
});

test("leaving waits for the answer, but only briefly for a terminal that never answered", async () => {
  const { trip } = open();
  await trip.whenNoAnswerPending();
  trip.asked(10);
  const first = trip.whenNoAnswerPending();
  mock.timers.tick(150);
  await first;
  trip.answered();
  trip.asked(20);
  let isOver = false;
  const second = trip.whenNoAnswerPending().then(() => {
    isOver = true;
  });
  mock.timers.tick(1_000);
  await Promise.resolve();
  assert.equal(isOver, false);
  trip.answered();
  await second;
  assert.equal(isOver, true);
});
