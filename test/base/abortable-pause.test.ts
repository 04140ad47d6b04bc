import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { pause } from "../../src/base/index.ts";

const HOUR_MS = 3_600_000;

test("a wait ends after its time, and leaves nothing when aborted", async () => {
  const { signal } = new AbortController();
  const begun = performance.now();
  await pause(20, signal);
  assert.ok(performance.now() - begun >= 19);
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("a signal ends a wait, also one that was aborted before", async () => {
  const leaving = new AbortController();
  const waiting = pause(HOUR_MS, leaving.signal);
  leaving.abort();
  await waiting;
  await pause(HOUR_MS, leaving.signal);
});

test("a wait of zero ends at once", async () => {
  const { signal } = new AbortController();
  await pause(0, signal);
  await pause(-1, signal);
  assert.equal(getEventListeners(signal, "abort").length, 0);
});
