/** A leader's knowledge of a member, and the window of sent messages. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { addInflight, createInflights, freeUpTo, isFull } from "../../../../src/server/core/raft/inflights.ts";
import {
  acknowledge,
  becomeProbe,
  becomeReplicate,
  becomeSnapshot,
  canBumpCommit,
  createProgress,
  isSendingPaused,
  type Progress,
  sentAppend,
  stepBack,
} from "../../../../src/server/core/raft/progress.ts";

const LIMITS = { maxInflightMessages: 3, maxInflightBytes: 100 };

function progressAt(match: number, next: number, state: Progress["state"]): Progress {
  const progress = createProgress(next, false, LIMITS);
  if (state === "StateReplicate") becomeReplicate(progress);
  if (state === "StateSnapshot") becomeSnapshot(progress, next - 1);
  progress.match = match;
  progress.next = next;
  return progress;
}

test("a window is full at its limit of messages or bytes", () => {
  const byCount = createInflights(2, 100);
  addInflight(byCount, 5, 1);
  assert.equal(isFull(byCount), false);
  addInflight(byCount, 6, 1);
  assert.equal(isFull(byCount), true);
  const byBytes = createInflights(9, 100);
  addInflight(byBytes, 5, 99);
  assert.equal(isFull(byBytes), false);
  addInflight(byBytes, 6, 500);
  assert.equal(isFull(byBytes), true);
});

test("an acknowledgement frees every message up to its index and none after it", () => {
  const inflights = createInflights(9, 100);
  for (const index of [3, 5, 7]) addInflight(inflights, index, 10);
  freeUpTo(inflights, 2);
  assert.deepEqual([inflights.messages.length, inflights.bytes], [3, 30]);
  freeUpTo(inflights, 5);
  assert.deepEqual(inflights.messages, [{ index: 7, bytes: 10 }]);
  assert.equal(inflights.bytes, 10);
  freeUpTo(inflights, 99);
  assert.deepEqual([inflights.messages.length, inflights.bytes], [0, 0]);
});

test("an acknowledgement raises match and never lowers it", () => {
  const cases: readonly (readonly [index: number, isNews: boolean, match: number, next: number])[] = [
    [2, false, 3, 5],
    [3, false, 3, 5],
    [4, true, 4, 5],
    [6, true, 6, 7],
  ];
  for (const [index, isNews, match, next] of cases) {
    const progress = progressAt(3, 5, "StateProbe");
    assert.equal(acknowledge(progress, index), isNews, `${index}`);
    assert.deepEqual([progress.match, progress.next], [match, next]);
  }
});

test("a refusal moves next back to where the logs may agree, and a stale one does nothing", () => {
  const cases: readonly {
    readonly state: Progress["state"];
    readonly refused: number;
    readonly hint: number;
    readonly isTaken: boolean;
    readonly next: number;
  }[] = [
    { state: "StateReplicate", refused: 5, hint: 5, isTaken: false, next: 10 },
    { state: "StateReplicate", refused: 4, hint: 4, isTaken: false, next: 10 },
    { state: "StateReplicate", refused: 9, hint: 9, isTaken: true, next: 6 },
    { state: "StateProbe", refused: 0, hint: 0, isTaken: false, next: 10 },
    { state: "StateProbe", refused: 8, hint: 8, isTaken: false, next: 10 },
    { state: "StateProbe", refused: 9, hint: 9, isTaken: true, next: 9 },
    { state: "StateProbe", refused: 9, hint: 7, isTaken: true, next: 8 },
    { state: "StateProbe", refused: 9, hint: 2, isTaken: true, next: 6 },
    { state: "StateSnapshot", refused: 9, hint: 2, isTaken: false, next: 10 },
  ];
  for (const { state, refused, hint, isTaken, next } of cases) {
    const progress = progressAt(5, 10, state);
    assert.equal(stepBack(progress, refused, hint), isTaken, `${state} ${refused}`);
    assert.equal(progress.next, next, `${state} ${refused}`);
  }
});

test("sending pauses after a probe, at a full window, and during a snapshot", () => {
  const probe = progressAt(0, 1, "StateProbe");
  sentAppend(probe, 1, 1, 0);
  assert.deepEqual([isSendingPaused(probe), probe.next], [true, 1]);
  const replicate = progressAt(0, 1, "StateReplicate");
  sentAppend(replicate, 2, 1, 0);
  sentAppend(replicate, 1, 1, 0);
  assert.deepEqual([isSendingPaused(replicate), replicate.next], [false, 4]);
  sentAppend(replicate, 1, 1, 0);
  assert.equal(isSendingPaused(replicate), true);
  assert.equal(isSendingPaused(progressAt(0, 9, "StateSnapshot")), true);
});

test("after a snapshot the next probe follows it, and after a failed one it follows the known match", () => {
  const done = progressAt(1, 2, "StateSnapshot");
  becomeSnapshot(done, 10);
  becomeProbe(done);
  assert.deepEqual([done.state, done.next, done.pendingSnapshot], ["StateProbe", 11, 0]);
  const failed = progressAt(1, 2, "StateSnapshot");
  becomeSnapshot(failed, 10);
  failed.pendingSnapshot = 0;
  becomeProbe(failed);
  assert.equal(failed.next, 2);
});

test("a commit index is sent once, and not before the entries it covers", () => {
  const progress = progressAt(4, 5, "StateReplicate");
  assert.equal(canBumpCommit(progress, 4), true);
  sentAppend(progress, 0, 0, 4);
  assert.equal(canBumpCommit(progress, 4), false);
  // Everything sent is known to be committed there, so a higher index would change nothing.
  assert.equal(canBumpCommit(progress, 6), false);
  sentAppend(progress, 2, 0, 4);
  assert.equal(canBumpCommit(progress, 6), true);
});

test("next stays above match, and match never falls, for any sequence of events", () => {
  const event = fc.oneof(
    fc.record({ kind: fc.constant("ack" as const), index: fc.nat(20) }),
    fc.record({ kind: fc.constant("refuse" as const), index: fc.nat(20), hint: fc.nat(20) }),
    fc.record({ kind: fc.constant("send" as const), index: fc.nat(3) }),
    fc.record({ kind: fc.constantFrom("probe" as const, "replicate" as const), index: fc.constant(0) }),
    fc.record({ kind: fc.constant("snapshot" as const), index: fc.nat(20) }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const progress = createProgress(1, false, LIMITS);
      for (const each of events) {
        const before = progress.match;
        if (each.kind === "ack") acknowledge(progress, each.index);
        else if (each.kind === "refuse") stepBack(progress, each.index, each.hint);
        else if (each.kind === "send") !isSendingPaused(progress) && sentAppend(progress, each.index, 1, 0);
        else if (each.kind === "probe") becomeProbe(progress);
        else if (each.kind === "replicate") becomeReplicate(progress);
        else becomeSnapshot(progress, each.index);
        assert.ok(progress.next > progress.match, `next ${progress.next}, match ${progress.match}`);
        assert.ok(progress.match >= before);
      }
    }),
  );
});
