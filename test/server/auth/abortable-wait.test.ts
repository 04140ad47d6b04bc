/** Waits that end with a signal or a timeout, without affecting what is awaited. */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { waitAtMost, waitFor } from "../../../src/server/auth/abortable-wait.ts";

const never = () => new Promise<void>(() => undefined);

test("a wait returns the value and removes its listener", async () => {
  const { signal } = new AbortController();
  assert.equal(await waitFor(Promise.resolve(7), signal), 7);
  await assert.rejects(waitFor(Promise.reject(new Error("failed")), signal), /failed/);
  assert.deepEqual(getEventListeners(signal, "abort"), []);
});

test("a wait ends with its signal, also if that was aborted before", async () => {
  const controller = new AbortController();
  const waits = waitFor(never(), controller.signal);
  controller.abort(new Error("gone"));
  await assert.rejects(waits, /gone/);
  await assert.rejects(waitFor(never(), controller.signal), /gone/);
  await assert.rejects(waitAtMost(never(), 60_000, controller.signal), /gone/);
});

test("a wait with a timeout ends as if the awaited event had happened", async () => {
  await waitAtMost(never(), 1, new AbortController().signal);
});
