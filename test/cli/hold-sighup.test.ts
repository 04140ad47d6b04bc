/** A SIGHUP before a reload is possible is kept, or ends the process if no reload will be. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { holdSighup } from "../../src/cli/hold-sighup.ts";

/** Delivered by the kernel; resolves when the earlier listeners have been called. */
async function hangUp(): Promise<void> {
  // Waiting for a signal does not keep a process alive.
  const alive = setTimeout(() => undefined, 30_000);
  const signaled = once(process, "SIGHUP");
  process.kill(process.pid, "SIGHUP");
  await signaled;
  clearTimeout(alive);
}

test("a hangup before the first listener is passed on once, and later ones as they come", async () => {
  const held = holdSighup();
  await hangUp();
  await hangUp();
  let calls = 0;
  const end = held.forwardTo(() => {
    calls += 1;
  });
  assert.equal(calls, 1);
  await hangUp();
  assert.equal(calls, 2);
  end();
  assert.equal(process.listenerCount("SIGHUP"), 0);
});

test("without an earlier hangup nothing is passed on", () => {
  const held = holdSighup();
  held.forwardTo(() => assert.fail("nobody hung up"))();
  assert.equal(process.listenerCount("SIGHUP"), 0);
});

test("a process without a reload learns of a kept hangup and stops listening", async () => {
  const held = holdSighup();
  await hangUp();
  assert.equal(held.restoreDefault(), true);
  assert.equal(holdSighup().restoreDefault(), false);
  assert.equal(process.listenerCount("SIGHUP"), 0);
});
