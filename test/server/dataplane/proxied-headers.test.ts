/** Headers of an upstream's answer that the client gets. Source: RFC 9110, section 7.6.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isWritable, proxiedHeaders } from "../../../src/server/dataplane/proxied-headers.ts";

const ROWS: readonly (readonly [what: string, headers: readonly string[], kept: readonly string[]])[] = [
  ["order, case and repetitions", ["B", "2", "a", "1", "b", "3"], ["B", "2", "a", "1", "b", "3"]],
  ["a connection header", ["Keep-Alive", "timeout=5", "a", "1"], ["a", "1"]],
  ["a header that `connection` names", ["Connection", "X-Own, close", "x-own", "1", "a", "1"], ["a", "1"]],
  ["a header of the gateway", ["X-Gateway-Provider", "forged", "x-gateway-cost", "0", "a", "1"], ["a", "1"]],
  ["an echoed credential", ["x-echo", "the-key", "a", "1"], ["a", "1"]],
  ["nothing", [], []],
];

for (const [what, headers, kept] of ROWS) {
  test(`an answer head is read: ${what}`, () => {
    const { pairs } = proxiedHeaders(headers, (_name, value) => value.includes("the-key"));
    assert.deepEqual(pairs, kept);
  });
}

test("an answer head gives its length and whether it is an event stream that can be appended to", () => {
  const stream = proxiedHeaders(["Content-Type", "Text/Event-Stream; charset=utf-8"], undefined);
  assert.deepEqual([stream.isEventStream, stream.contentLength], [true, Number.NaN]);
  const encoded = proxiedHeaders(["content-type", "text/event-stream", "content-encoding", "gzip"], undefined);
  assert.equal(encoded.isEventStream, false);
  assert.equal(proxiedHeaders(["Content-Length", "12"], undefined).contentLength, 12);
});

test("a status text with control or multi-byte characters is not written", () => {
  assert.deepEqual(["Not Found", "", "caf\u00e9", "a\r\nb", "\u2026"].map(isWritable), [
    true,
    true,
    true,
    false,
    false,
  ]);
});
