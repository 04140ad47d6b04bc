import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeProposal, encodeProposal, MAX_COMMAND_BYTES } from "../../../../src/server/core/state/index.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

test("a proposal has the time and the command's bytes unchanged", () => {
  const data = encodeProposal(1_700_000_000_123, utf8('{"t":"x"}'));
  assert.equal(Buffer.from(data.subarray(0, 9)).toString("hex"), "010000018bcfe5687b");
  assert.deepEqual(decodeProposal(data), { kind: "proposal", nowMs: 1_700_000_000_123, command: { t: "x" } });
});

test("an entry without data is a leader's first one", () => {
  assert.deepEqual(decodeProposal(new Uint8Array(0)), { kind: "empty" });
});

test("malformed proposals are distinguished from those of a newer build", () => {
  for (const [data, expected] of [
    [Uint8Array.of(2), { kind: "unknown-format", format: 2 }],
    [Uint8Array.of(0, 1, 2), { kind: "malformed", nowMs: undefined }],
    [Uint8Array.of(1, 0, 0), { kind: "malformed", nowMs: undefined }],
    [Uint8Array.of(1, 255, 255, 255, 255, 255, 255, 255, 255), { kind: "malformed", nowMs: undefined }],
    [encodeProposal(5, utf8("{")), { kind: "malformed", nowMs: 5 }],
    [encodeProposal(5, Uint8Array.of(0x22, 0xff, 0x22)), { kind: "malformed", nowMs: 5 }],
    [encodeProposal(5, utf8("\ufeff{}")), { kind: "malformed", nowMs: 5 }],
    [encodeProposal(5, utf8(`"${"x".repeat(MAX_COMMAND_BYTES)}"`)), { kind: "malformed", nowMs: 5 }],
  ] as const) {
    assert.deepEqual(decodeProposal(data), expected);
  }
});

test("a time that is not a whole number of milliseconds is not stamped", () => {
  for (const now of [-1, 0.5, Number.NaN, 2 ** 53]) assert.throws(() => encodeProposal(now, utf8("{}")), RangeError);
});

test("any bytes decode to something", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (data) => {
      const kinds = ["empty", "proposal", "malformed", "unknown-format"];
      assert.ok(kinds.includes(decodeProposal(data).kind));
    }),
  );
});
