import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  decodeBatch,
  decodeMessage,
  encodeBatch,
  encodeMessage,
  WireError,
} from "../../../../src/server/cluster/wire/index.ts";
import type { Message, MessageType } from "../../../../src/server/core/raft/index.ts";

const TYPES: readonly MessageType[] = [
  "MsgApp",
  "MsgAppResp",
  "MsgVote",
  "MsgVoteResp",
  "MsgPreVote",
  "MsgPreVoteResp",
  "MsgHeartbeat",
  "MsgHeartbeatResp",
  "MsgTimeoutNow",
  "MsgReadIndex",
  "MsgReadIndexResp",
];

const number = fc.oneof(fc.nat({ max: 1_000 }), fc.maxSafeNat());
const id = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/);
const ids = fc.uniqueArray(id, { maxLength: 5 });
const bytes = (maxLength: number) => fc.uint8Array({ maxLength });

const common = {
  from: id,
  to: id,
  term: number,
  logTerm: number,
  index: number,
  commit: number,
  reject: fc.boolean(),
  transfer: fc.boolean(),
  hintIndex: number,
  hintTerm: number,
  context: fc.option(bytes(40), { nil: undefined }),
  entries: fc.array(
    fc.record({ index: number, term: number, kind: fc.constantFrom("normal", "conf-change"), data: bytes(60) }),
    { maxLength: 5 },
  ),
};
const anyMessage: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ ...common, type: fc.constantFrom(...TYPES), snapshot: fc.constant(undefined) }),
  fc.record({
    ...common,
    type: fc.constant("MsgSnap" as const),
    snapshot: fc.record({
      index: number,
      term: number,
      configuration: fc.record({
        voters: ids,
        votersOutgoing: ids,
        learners: ids,
        learnersNext: ids,
        autoLeave: fc.boolean(),
      }),
    }),
  }),
);

/** Converts buffers to byte arrays and objects to their usual prototype, for comparison. */
function plain(message: Message): unknown {
  const { snapshot } = message;
  return {
    ...message,
    snapshot: snapshot && { ...snapshot, configuration: { ...snapshot.configuration } },
    context: message.context && [...message.context],
    entries: message.entries.map((entry) => ({ ...entry, data: [...entry.data] })),
  };
}

const HEARTBEAT: Message = {
  type: "MsgHeartbeat",
  from: "n1",
  to: "n2",
  term: 3,
  logTerm: 0,
  index: 0,
  commit: 258,
  reject: false,
  transfer: false,
  hintIndex: 0,
  hintTerm: 0,
  context: Uint8Array.of(9),
  entries: [{ index: 5, term: 2, kind: "conf-change", data: Uint8Array.of(1, 2) }],
  snapshot: undefined,
};

test("a message survives a round trip", () => {
  fc.assert(
    fc.property(anyMessage, (message) => {
      assert.deepEqual(plain(decodeMessage(encodeMessage(message))), plain(message));
    }),
  );
});

test("a batch keeps its messages and their order", () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 6 }), (messages) => {
      const decoded = decodeBatch(encodeBatch(messages.map(encodeMessage)));
      assert.deepEqual(decoded.map(plain), messages.map(plain));
    }),
  );
});

test("a message matches the protocol byte for byte", () => {
  const u64 = (value: number) => value.toString(16).padStart(16, "0");
  assert.equal(
    encodeMessage(HEARTBEAT).toString("hex"),
    [
      "06",
      u64(3),
      "0002" + "6e31",
      "0002" + "6e32",
      u64(0),
      u64(0),
      u64(258),
      "04",
      u64(0),
      u64(0),
      "0001" + "09",
      "00000001",
      `01${u64(2)}${u64(5)}`,
      "00000002" + "0102",
    ].join(""),
  );
});

test("a message does not share memory with the bytes it was read from", () => {
  const encoded = encodeMessage(HEARTBEAT);
  const { context, entries } = decodeMessage(encoded);
  encoded.fill(0xff);
  assert.deepEqual([...(context ?? [])], [9]);
  assert.deepEqual([...(entries[0]?.data ?? [])], [1, 2]);
});

test("a message that cannot be sent is the caller's error", () => {
  const cases: readonly Partial<Message>[] = [
    { from: 1 },
    { to: "" },
    { to: "x".repeat(129) },
    { term: 2 ** 53 },
    { index: -1 },
    { commit: 0.5 },
    { context: new Uint8Array(65_536) },
  ];
  for (const over of cases) assert.throws(() => encodeMessage({ ...HEARTBEAT, ...over }), RangeError);
});

test("a message that is truncated or too long is refused", () => {
  const encoded = encodeMessage(HEARTBEAT);
  for (let length = 0; length < encoded.length; length++) {
    assert.throws(() => decodeMessage(encoded.subarray(0, length)), WireError, `${length} bytes`);
  }
  assert.throws(() => decodeMessage(Buffer.concat([encoded, Buffer.alloc(1)])), WireError);
});

test("unknown types, flags and kinds, large numbers, empty ids and wrong counts are refused", () => {
  const at = { type: 0, term: 1, from: 9, flags: 41, context: 58, count: 61, entryKind: 65, entryLength: 82 };
  const broken = (change: (bytes: Buffer) => void): Buffer => {
    const encoded = encodeMessage(HEARTBEAT);
    change(encoded);
    return encoded;
  };
  const cases: readonly (readonly [string, Buffer, RegExp])[] = [
    ["type", broken((it) => it.writeUInt8(12, at.type)), /unknown type/],
    ["term", broken((it) => it.writeUInt32BE(0x0020_0000, at.term)), /2\^53/],
    ["from", broken((it) => it.writeUInt8(0xff, at.from + 2)), /UTF-8/],
    ["flags", broken((it) => it.writeUInt8(16, at.flags)), /unknown flags/],
    ["context", broken((it) => it.writeUInt8(0, at.flags)), /context without its flag/],
    ["snapshot", broken((it) => it.writeUInt8(12, at.flags)), /./],
    ["count", broken((it) => it.writeUInt32BE(0xffff_ffff, at.count)), /cut off/],
    ["entry kind", broken((it) => it.writeUInt8(2, at.entryKind)), /unknown kind/],
    ["entry length", broken((it) => it.writeUInt32BE(0xffff_ffff, at.entryLength)), /expected/],
  ];
  for (const [what, bytes, message] of cases) {
    assert.throws(
      () => decodeMessage(bytes),
      (error: unknown) => error instanceof WireError && message.test(error.message),
      what,
    );
  }
  const batch = encodeBatch([encodeMessage(HEARTBEAT)]);
  batch.writeUInt32BE(0xffff_ffff, 0);
  assert.throws(() => decodeBatch(batch), /cut off/);
});

test("a snapshot's configuration is checked member by member", () => {
  const configuration = { voters: ["a"], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
  const withConfiguration = (value: unknown): Buffer => {
    const message = { ...HEARTBEAT, type: "MsgSnap" as const, snapshot: { index: 1, term: 1, configuration } };
    const encoded = encodeMessage(message);
    const text = Buffer.from(JSON.stringify(value));
    const head = encoded.subarray(0, encoded.length - JSON.stringify(configuration).length - 4);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(text.length);
    return Buffer.concat([head, length, text]);
  };
  assert.deepEqual(decodeMessage(withConfiguration(configuration)).snapshot?.configuration, configuration);
  const cases = [
    null,
    [],
    {},
    { ...configuration, voters: "a" },
    { ...configuration, voters: [1] },
    { ...configuration, voters: [""] },
    { ...configuration, learners: ["b", "b"] },
    { ...configuration, voters: Array.from({ length: 1_001 }, (_, n) => `n${n}`) },
    { ...configuration, autoLeave: 1 },
    { ...configuration, more: true },
  ];
  for (const value of cases) assert.throws(() => decodeMessage(withConfiguration(value)), WireError);
});

test("random bytes and changed messages decode to messages or to the one error", () => {
  const changed = fc
    .tuple(anyMessage, fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 6 }))
    .map(([message, changes]) => {
      const encoded = encodeMessage(message);
      for (const [at, value] of changes) encoded.writeUInt8(value, at % encoded.length);
      return encoded;
    });
  const random = fc.uint8Array({ maxLength: 300 }).map((input) => Buffer.from(input));
  fc.assert(
    fc.property(fc.oneof(changed, random), (input) => {
      for (const decode of [decodeMessage, decodeBatch]) {
        try {
          decode(input);
        } catch (error) {
          if (!(error instanceof WireError)) throw error;
        }
      }
    }),
    { numRuns: 3_000 },
  );
});
