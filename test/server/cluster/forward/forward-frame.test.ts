import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodePayload, encodePayload } from "../../../../src/server/cluster/forward/forward-frame.ts";
import { WireError } from "../../../../src/server/cluster/wire/index.ts";

test("header and body survive a round trip", () => {
  fc.assert(
    fc.property(fc.json(), fc.uint8Array({ maxLength: 100 }), (json, body) => {
      const header: unknown = JSON.parse(json);
      const decoded = decodePayload(Buffer.concat(encodePayload(header, body)));
      assert.equal(JSON.stringify(decoded.header), JSON.stringify(header));
      assert.deepEqual([...decoded.body], [...body]);
    }),
  );
});

test("a payload matches the protocol byte for byte", () => {
  assert.equal(Buffer.concat(encodePayload({ a: 1 }, Buffer.of(9))).toString("hex"), "000000077b2261223a317d09");
});

test("any bytes decode to a payload or to the one error", () => {
  const framed = fc
    .tuple(fc.nat({ max: 60 }), fc.uint8Array({ maxLength: 60 }))
    .map(([length, rest]) => Buffer.concat([Buffer.of(0, 0, 0, length), rest]));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 60 }), framed), (input) => {
      try {
        decodePayload(input);
      } catch (error) {
        if (!(error instanceof WireError)) throw error;
      }
    }),
    { numRuns: 1_000 },
  );
});
