/** Tests of the history checker: histories known to be linearizable pass, and others fail. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { appended } from "./command.ts";
import { type Input, REGISTER } from "./history.ts";
import { checkLinearizable, type Operation } from "./linearizability.ts";

type Op = Operation<Input, number>;

const MAX_STEPS = 100_000;

const read = (call: number, at: number, output: number): Op => ({
  input: { kind: "read" },
  call,
  returned: { at, output },
});
const write = (call: number, at: number | undefined, value: number): Op => ({
  input: { kind: "write", value },
  call,
  returned: at === undefined ? undefined : { at, output: 1 },
});
const swap = (call: number, at: number | undefined, expected: number, value: number, output = 1): Op => ({
  input: { kind: "swap", expected, value },
  call,
  returned: at === undefined ? undefined : { at, output },
});
const append = (call: number, at: number, value: number, output: number): Op => ({
  input: { kind: "append", value },
  call,
  returned: { at, output },
});

const verdict = (history: readonly Op[]): string => checkLinearizable(history, REGISTER, MAX_STEPS).kind;

const GOOD: readonly (readonly [what: string, history: readonly Op[]])[] = [
  ["nothing happened", []],
  ["a read of what was never written gives the first value", [read(0, 1, 0)]],
  ["one after the other", [write(0, 1, 7), read(2, 3, 7), write(4, 5, 8), read(6, 7, 8)]],
  ["a read during a write sees it or not", [write(0, 10, 7), read(1, 2, 0), read(3, 4, 7)]],
  ["two writes at once, in either order", [write(0, 10, 7), write(0, 10, 8), read(11, 12, 7)]],
  ["two writes at once, in the other order", [write(0, 10, 7), write(0, 10, 8), read(11, 12, 8)]],
  ["an unknown write took effect late", [write(0, undefined, 7), read(1, 2, 0), read(3, 4, 7)]],
  ["an unknown write never took effect", [write(0, undefined, 7), read(1, 2, 0), read(3, 4, 0)]],
  ["an unknown write took effect after another", [write(0, undefined, 7), write(1, 2, 8), read(3, 4, 7)]],
  ["a swap that found its value", [write(0, 1, 7), swap(2, 3, 7, 8), read(4, 5, 8)]],
  ["a swap that did not", [write(0, 1, 7), swap(2, 3, 6, 8, 0), read(4, 5, 7)]],
  ["an unknown swap explains a later read", [write(0, 1, 7), swap(2, undefined, 7, 9), read(3, 4, 9)]],
  [
    "appends at once, in the order their results say",
    [
      append(0, 10, 2, appended(appended(0, 1), 2)),
      append(0, 10, 1, appended(0, 1)),
      read(11, 12, appended(appended(0, 1), 2)),
    ],
  ],
];

const BAD: readonly (readonly [what: string, history: readonly Op[]])[] = [
  ["a stale read", [write(0, 1, 7), write(2, 3, 8), read(4, 5, 7)]],
  ["a lost update", [write(0, 1, 7), read(2, 3, 0)]],
  ["a value that nobody wrote", [write(0, 1, 7), read(2, 3, 9)]],
  ["reads that go back", [write(0, 10, 7), read(1, 2, 7), read(3, 4, 0)]],
  ["reads by two that disagree on the order", [write(0, 1, 1), write(2, 9, 2), read(3, 4, 2), read(5, 6, 1)]],
  ["a write seen before it was called", [read(0, 1, 7), write(2, 3, 7)]],
  ["an unknown write seen before it was called", [read(0, 1, 7), write(2, undefined, 7)]],
  ["an unknown write that came and went", [write(0, undefined, 7), read(1, 2, 7), read(3, 4, 0)]],
  ["two swaps of one value", [write(0, 1, 7), swap(2, 5, 7, 8), swap(2, 5, 7, 9), read(6, 7, 9)]],
  ["a swap that failed on its value", [write(0, 1, 7), swap(2, 3, 7, 8, 0)]],
  ["an append that took effect twice", [append(0, 1, 1, appended(0, 1)), read(2, 3, appended(appended(0, 1), 1))]],
  ["two appends of which one is lost", [append(0, 1, 1, appended(0, 1)), append(2, 3, 2, appended(0, 2))]],
];

test("histories known to be linearizable pass", () => {
  for (const [what, history] of GOOD) assert.equal(verdict(history), "linearizable", what);
});

test("histories known not to be linearizable fail", () => {
  for (const [what, history] of BAD) assert.equal(verdict(history), "violated", what);
});

test("the order in which a history is recorded does not matter", () => {
  for (const [what, history] of GOOD) assert.equal(verdict([...history].reverse()), "linearizable", what);
  for (const [what, history] of BAD) assert.equal(verdict([...history].reverse()), "violated", what);
});

test("a search that takes too long is undecided", () => {
  const history = [...Array.from({ length: 30 }, (_, at) => write(0, 100, at + 1)), read(101, 102, 99)];
  assert.equal(checkLinearizable(history, REGISTER, 1_000).kind, "undecided");
});

/** Calls and returns around the moments at which operations took effect on one register. */
const genuine = fc
  .array(
    fc.record({
      kind: fc.constantFrom("read", "write", "swap", "append"),
      value: fc.integer({ min: 1, max: 5 }),
      before: fc.integer({ min: 0, max: 40 }),
      after: fc.integer({ min: 0, max: 40 }),
      isUnknown: fc.boolean(),
    }),
    { maxLength: 40 },
  )
  .map((steps) => {
    let state = 0;
    return steps.map(({ kind, value, before, after, isUnknown }, at): Op => {
      const input: Input =
        kind === "read"
          ? { kind }
          : kind === "swap"
            ? { kind, expected: (value % 3) + 1, value }
            : { kind: kind === "write" ? "write" : "append", value };
      const found = state;
      state = REGISTER.step(state, input, undefined) ?? state;
      const isSwapped = input.kind === "swap" && found === input.expected;
      const output = kind === "append" || kind === "read" ? state : kind === "swap" && !isSwapped ? 0 : 1;
      const moment = at * 10 + 5;
      const returned = isUnknown && kind !== "read" ? undefined : { at: moment + 1 + after, output };
      return { input, call: moment - before, returned };
    });
  });

test("a history whose operations took effect within their calls passes", () => {
  fc.assert(
    fc.property(genuine, (history) => verdict(history) === "linearizable"),
    { numRuns: 300 },
  );
});

test("a read of a value that no operation can have made fails in any history", () => {
  fc.assert(
    fc.property(genuine, (history) => verdict([...history, read(10_000, 10_001, 4_000_000_000)]) === "violated"),
    { numRuns: 100 },
  );
});

test("a history with many unknown outcomes is decided, whether it is linearizable or not", () => {
  const unknown = Array.from({ length: 40 }, (_, at) => write(at, undefined, at + 1));
  const swaps = Array.from({ length: 20 }, (_, at) => swap(at, undefined, 100 + at, 200 + at));
  const seen = [3, 17, 25, 40, 1, 8].flatMap((value, at) => [
    read(100 + at * 10, 105 + at * 10, value),
    read(101 + at * 10, 106 + at * 10, value),
  ]);
  assert.equal(verdict([...unknown, ...swaps, ...seen]), "linearizable");
  // A write that is seen, then gone, then seen again took effect twice.
  assert.equal(verdict([...unknown, ...swaps, ...seen, read(300, 301, 3)]), "violated");
});

/** Tries every order; for a handful of operations. */
function isLinearizable(left: readonly Op[], state: number): boolean {
  if (left.every(({ returned }) => returned === undefined)) return true;
  const end = Math.min(...left.map(({ returned }) => returned?.at ?? Number.POSITIVE_INFINITY));
  return left.some((op) => {
    if (op.call > end) return false;
    const after = REGISTER.step(state, op.input, op.returned?.output);
    return (
      after !== undefined &&
      isLinearizable(
        left.filter((one) => one !== op),
        after,
      )
    );
  });
}

test("pruning the search changes no verdict: small histories, valid and invalid, against every order", () => {
  const value = fc.integer({ min: 0, max: 2 });
  const op = fc.record({
    kind: fc.constantFrom("read", "write", "swap"),
    value,
    expected: value,
    output: value,
    call: fc.integer({ min: 0, max: 12 }),
    length: fc.integer({ min: 1, max: 8 }),
    isUnknown: fc.boolean(),
  });
  const small = fc.array(op, { maxLength: 6 }).map((ops) =>
    ops.map(({ kind, value, expected, output, call, length, isUnknown }): Op => {
      const at = call * 2 + length * 2 + 1; // no other call has this time
      if (kind === "read") return read(call * 2, at, output);
      if (kind === "write") return write(call * 2, isUnknown ? undefined : at, value);
      return swap(call * 2, isUnknown ? undefined : at, expected, value, output === 0 ? 0 : 1);
    }),
  );
  fc.assert(
    fc.property(small, (history) => (verdict(history) === "linearizable") === isLinearizable(history, 0)),
    { numRuns: 3_000 },
  );
});
