/** One limit shared by the processes of a node. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createAdmission } from "../../../../src/server/memory/index.ts";
import { openReservations, sendReservations } from "../../../../src/server/workers/index.ts";
import { eventually } from "../../../e2e/support/wait.ts";
import { openPair } from "../support/pair.ts";

const LIMITS = { maxInFlight: 256, maxBufferedBytes: 1 << 20 };
const MOST = LIMITS.maxBufferedBytes;

const takes = (admission: ReturnType<typeof createAdmission>, bytes: number): boolean => {
  try {
    admission.hold(bytes);
  } catch {
    return false;
  }
  admission.release(bytes);
  return true;
};

test("one process may hold all free room, and the others what it leaves", async () => {
  const own = createAdmission(LIMITS);
  const held = openReservations(own);
  await using one = await openPair();
  await using two = await openPair();
  const [first, second] = [createAdmission(LIMITS), createAdmission(LIMITS)];
  const ends = [sendReservations(one.worker, first), sendReservations(two.worker, second)];
  const leave = held.take(one.node);
  held.take(two.node);

  first.hold(MOST);
  await eventually("the others know", () => !takes(second, 1) && !takes(own, 1));
  assert.ok(!takes(first, 1));
  first.release(MOST / 2);
  await eventually("half is free", () => takes(second, MOST / 2) && takes(own, MOST / 2));
  own.hold(MOST / 4);
  await eventually("a quarter is free", () => !takes(second, MOST / 2) && takes(second, MOST / 4));
  assert.ok(takes(first, MOST / 4));
  own.release(MOST / 4);

  // Resources of a dead process are released.
  leave();
  await eventually("all is free", () => takes(second, MOST) && takes(own, MOST));
  held.close();
  for (const end of ends) end();
});

test("requests in flight count over all processes", async () => {
  const own = createAdmission(LIMITS);
  const held = openReservations(own);
  await using one = await openPair();
  const worker = createAdmission(LIMITS);
  const end = sendReservations(one.worker, worker);
  held.take(one.node);
  for (let count = 0; count < LIMITS.maxInFlight; count += 1) worker.enter();
  await eventually("none is taken elsewhere", () => {
    try {
      own.enter();
    } catch (error) {
      return (error as { readonly code?: unknown }).code === "overloaded";
    }
    own.leave();
    return undefined;
  });
  for (let count = 0; count < LIMITS.maxInFlight; count += 1) worker.leave();
  await eventually("all are taken again", () => {
    try {
      own.enter();
    } catch {
      return undefined;
    }
    own.leave();
    return true;
  });
  held.close();
  end();
});
