/**
 * Times at which heads are sent: by number, by time, at the end; one at a time, with a timeout, newer after a failure.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createInstruments } from "../../../src/base/index.ts";
import type { AuditHead } from "../../../src/server/audit/index.ts";
import { createWitness, WITNESS_PACE } from "../../../src/server/audit/witness.ts";
import { eventually, within } from "../../e2e/support/wait.ts";

const headAt = (seq: number): AuditHead => ({ kid: "k", seq, hash: `h${seq}` });
const failuresOf = () => ({
  value: 0,
  inc(by = 1): void {
    this.value += by;
  },
});
const never = { intervalMs: 1 << 30, records: 1_000, timeoutMs: 5_000, closeTimeoutMs: 5_000 };

interface Shown {
  readonly seq: number;
  readonly succeeds: AuditHead | null | undefined;
}

/** The test settles each sent head. */
function scripted() {
  const shown: Shown[] = [];
  const settle: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  const show = ({ seq }: AuditHead, succeeds: AuditHead | null | undefined): Promise<void> => {
    shown.push({ seq, succeeds });
    return new Promise((resolve, reject) => settle.push({ resolve, reject }));
  };
  return { shown, settle, show };
}

test("the schedule matches the reference", () => {
  assert.deepEqual(WITNESS_PACE, { intervalMs: 5_000, records: 1_000, timeoutMs: 5_000, closeTimeoutMs: 2_000 });
});

test("the first head is sent at once, then one per thousand records, one at a time, naming the predecessor until one is accepted", async () => {
  const { shown, settle, show } = scripted();
  const witness = createWitness(show, null, failuresOf(), never);
  for (let seq = 0; seq < 3_500; seq += 1) witness.advance(headAt(seq));
  assert.deepEqual(shown, [{ seq: 0, succeeds: null }]);
  settle[0]?.resolve();
  await new Promise(setImmediate);
  witness.advance(headAt(999));
  assert.equal(shown.length, 1);
  witness.advance(headAt(3_500));
  assert.deepEqual(shown.at(-1), { seq: 3_500, succeeds: undefined });
  settle[1]?.resolve();
  await witness.close();
  assert.equal(shown.length, 2);
});

test("a failure is counted, and the next head sent is newer and still names the predecessor", async () => {
  const { shown, settle, show } = scripted();
  const failures = failuresOf();
  const before = headAt(7);
  const witness = createWitness(show, before, failures, never);
  witness.advance(headAt(1_200));
  settle[0]?.reject(new Error("no leader"));
  await new Promise(setImmediate);
  witness.advance(headAt(1_300));
  const closed = witness.close();
  await eventually("the last one", () => shown.length === 2);
  settle[1]?.resolve();
  await closed;
  assert.deepEqual(shown, [
    { seq: 1_200, succeeds: before },
    { seq: 1_300, succeeds: before },
  ]);
  assert.equal(failures.value, 1);
});

test("an unanswered head is abandoned at its timeout, and its signal aborts", async () => {
  const failures = failuresOf();
  let signal: AbortSignal | undefined;
  const show = (_: AuditHead, __: unknown, input: AbortSignal): Promise<void> => {
    signal = input;
    return new Promise(() => undefined);
  };
  const witness = createWitness(show, undefined, failures, { ...never, timeoutMs: 5 });
  witness.advance(headAt(0));
  await eventually("the limit", () => failures.value === 1);
  assert.equal(signal?.aborted, true);
  await witness.close();
});

test("if no head is accepted, the close ends at its own timeout", async () => {
  const { shown, show } = scripted();
  const failures = failuresOf();
  const witness = createWitness(show, null, failures, { ...never, closeTimeoutMs: 5 });
  witness.advance(headAt(0));
  witness.advance(headAt(1));
  await within("the close", witness.close(), 2_000);
  assert.deepEqual([shown.length, failures.value], [1, 1]);
});

test("the newest head is sent once per interval", async () => {
  const shown: number[] = [];
  const show = async ({ seq }: AuditHead): Promise<void> => void shown.push(seq);
  const witness = createWitness(show, undefined, failuresOf(), { ...never, intervalMs: 1 });
  witness.advance(headAt(3));
  await eventually("the first", () => shown.length > 0);
  witness.advance(headAt(4));
  await eventually("the second", () => shown.length > 1);
  await witness.close();
  assert.deepEqual(shown, [3, 4]);
});

test("an interval or a close without new records sends nothing", async () => {
  const { shown, show } = scripted();
  const witness = createWitness(show, null, createInstruments().counter("x", "x").with(), { ...never, intervalMs: 1 });
  await witness.close();
  assert.deepEqual(shown, []);
});
