import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseHello, parseHelloOk, parseRefusal } from "../../../../src/server/cluster/wire/hello.ts";
import { encodeJson, WireError } from "../../../../src/server/cluster/wire/index.ts";

const HELLO = {
  v: 1,
  cluster: "fda64e3a063d37a6",
  epoch: 0,
  node: "n2",
  storage: "5b0c",
  proto: [1, 1],
  feat: 3,
  purpose: "raft",
} as const;

test("the hello of the reference is parsed as printed", () => {
  assert.deepEqual(parseHello(encodeJson(HELLO)), {
    nodeId: "n2",
    storageId: "5b0c",
    epoch: 0,
    clusterId: "fda64e3a063d37a6",
    proto: [1, 1],
    feat: 3,
    purpose: "raft",
    to: undefined,
  });
});

test("hello fields after the first version are optional, and are read if present", () => {
  const { incarnation, log } = parseHello(encodeJson({ ...HELLO, inc: "a1", last: 46, term: 3 }));
  assert.deepEqual([incarnation, log], ["a1", { lastIndex: 46, term: 3 }]);
  assert.equal(parseHello(encodeJson({ ...HELLO, last: 46 })).log, undefined);
  assert.equal(parseHello(encodeJson({ ...HELLO, joined: true })).joined, true);
  for (const wrong of [{ inc: 1 }, { inc: "x".repeat(65) }, { last: -1, term: 0 }, { last: 1, term: "1" }]) {
    assert.throws(() => parseHello(encodeJson({ ...HELLO, ...wrong })), WireError, JSON.stringify(wrong));
  }
});

test("fields that a later version adds are ignored", () => {
  assert.equal(parseHello(encodeJson({ ...HELLO, later: { more: true } })).nodeId, "n2");
});

test("a hello with a missing field or a wrong type is refused", () => {
  const wrong: readonly (readonly [keyof typeof HELLO, unknown])[] = [
    ["v", 2],
    ["cluster", 1],
    ["cluster", "x".repeat(65)],
    ["epoch", -1],
    ["epoch", 0.5],
    ["epoch", null],
    ["node", undefined],
    ["node", "x".repeat(129)],
    ["storage", undefined],
    ["proto", undefined],
    ["proto", [1]],
    ["proto", [1, "2"]],
    ["feat", undefined],
    ["purpose", "chat"],
  ];
  for (const [name, value] of wrong) {
    assert.throws(() => parseHello(encodeJson({ ...HELLO, [name]: value })), WireError, `${name}: ${value}`);
  }
  assert.throws(() => parseHello(encodeJson({ ...HELLO, to: 1 })), WireError);
});

test("a refusal has a printable code", () => {
  assert.equal(parseRefusal(encodeJson({ code: "not_a_member" })), "not_a_member");
  for (const code of [undefined, 1, "", "Not", "a\u001b[2J", "x".repeat(65)]) {
    assert.throws(() => parseRefusal(encodeJson({ code })), WireError, String(code));
  }
});

test("any bytes or values decode to a hello or to the one error", () => {
  const value = fc.oneof(
    fc.json(),
    fc
      .record({ ...Object.fromEntries(Object.keys(HELLO).map((name) => [name, fc.jsonValue()])) })
      .map((it) => JSON.stringify(it)),
    fc
      .tuple(fc.constantFrom(...Object.keys(HELLO)), fc.jsonValue())
      .map(([name, it]) => JSON.stringify({ ...HELLO, [name]: it })),
  );
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    value.map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(bytes, (input) => {
      for (const parse of [parseHello, parseHelloOk, parseRefusal]) {
        try {
          parse(input);
        } catch (error) {
          if (!(error instanceof WireError)) throw error;
        }
      }
    }),
    { numRuns: 1_000 },
  );
});
