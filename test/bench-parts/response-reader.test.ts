/** The load generator's response parser: only complete answers count, however the bytes are cut. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createResponseReader, parseHead } from "../bench/child/response-reader.ts";

const SIZED = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";
const EMPTY = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
const CHUNKED =
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel\r\n\r\nb;name=value\r\nHTTP/1.1 50\r\n0\r\n\r\n";
const WITH_TRAILER = "HTTP/1.1 503 Busy\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nsum: 1\r\n\r\n";

function readAll(pieces: readonly Buffer[]): number[] {
  const statuses: number[] = [];
  const reader = createResponseReader((status) => statuses.push(status));
  for (const piece of pieces) reader.push(piece);
  return statuses;
}

describe("response reader", () => {
  it("finds the same answers however the bytes are cut", () => {
    const answers = fc.array(fc.constantFrom(SIZED, EMPTY, CHUNKED, WITH_TRAILER), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(
        answers,
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 50 }),
        (texts, cuts) => {
          const bytes = Buffer.from(texts.join(""), "latin1");
          const pieces: Buffer[] = [];
          for (let at = 0, cut = 0; at < bytes.length; cut += 1) {
            const size = cuts[cut % cuts.length] ?? 1;
            pieces.push(bytes.subarray(at, at + size));
            at += size;
          }
          assert.deepEqual(
            readAll(pieces),
            texts.map((text) => Number(text.slice(9, 12))),
          );
        },
      ),
      { verbose: true },
    );
  });

  it("does not count an answer without its last byte", () => {
    for (const text of [SIZED, EMPTY, CHUNKED, WITH_TRAILER]) {
      assert.deepEqual(readAll([Buffer.from(text.slice(0, -1), "latin1")]), []);
    }
  });

  it("refuses bytes that are not a response, and a response without framing", () => {
    assert.throws(() => parseHead("SSH-2.0-x"), /not an HTTP/);
    assert.throws(() => parseHead("HTTP/1.1 200 OK\r\nserver: x"), /without framing/);
    assert.throws(() => readAll([Buffer.from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")]), /size/);
  });
});
