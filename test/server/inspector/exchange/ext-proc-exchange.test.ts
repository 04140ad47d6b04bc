/** Each transcript of the protocol with its answers. Source: ext-proc reference, A.2 to A.8. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../../../src/base/index.ts";
import type { Arrival, ExchangeOptions, PeerMode, Verdict } from "../../../../src/server/inspector/exchange/index.ts";
import { body, exchange, headers, MAX_BODY_BYTES, response, trailers } from "./support.ts";

const ALLOW: Verdict = { kind: "allow" };
const REWRITE: Verdict = { kind: "rewrite", body: Buffer.from("[redacted]") };
const WITH_HEADER: Verdict = { ...REWRITE, headers: new Map([["mcp-param-a", "b"]]) };
const DENY: Verdict = { kind: "refuse", error: new GatewayError("guardrail_denied", "Not here.") };

type Move = readonly [Arrival | Verdict | "left", ...expected: string[]];

const ROWS: readonly (readonly [what: string, mode: ExchangeOptions["mode"], moves: readonly Move[]])[] = [
  ["streamed: no body, allowed", "streamed", [[headers(true), 'inspect ""'], [ALLOW, "headers"], ["left"]]],
  [
    "streamed: no body, denied",
    "streamed",
    [
      [headers(true), 'inspect ""'],
      [DENY, "refuse 403 guardrail_denied"],
    ],
  ],
  [
    "streamed: the whole body in one message passes unchanged",
    "streamed",
    [[headers(), "headers ask -length"], [body("hi", true), 'inspect "hi"'], [ALLOW, "chunk itself"], ["left"]],
  ],
  [
    "streamed: chunks are held and all sent at the end",
    "streamed",
    [
      [headers(false, "none"), "headers ask -length"],
      [body("h"), "chunk nothing"],
      [body("ello"), "chunk nothing"],
      [body("", true), 'inspect "hello"'],
      [ALLOW, 'chunk "hello"'],
      [response.headers(), "response headers"],
      ["left"],
    ],
  ],
  [
    "streamed: redacted",
    "streamed",
    [
      [headers(), "headers ask -length"],
      [body("secret", true), 'inspect "secret"'],
      [REWRITE, 'chunk "[redacted]"'],
    ],
  ],
  [
    "streamed: a header to rewrite has already been sent",
    "streamed",
    [
      [headers(), "headers ask -length"],
      [body("secret", true), 'inspect "secret"'],
      [WITH_HEADER, "refuse 403 guardrail_denied"],
    ],
  ],
  [
    "duplex: a header is rewritten with the body",
    "duplex",
    [
      [headers(false, "duplex")],
      [body("secret", true), 'inspect "secret"'],
      [WITH_HEADER, "headers -length mcp-param-a=b", 'piece "[redacted]" end'],
    ],
  ],
  [
    "streamed: denied, and no further answer follows",
    "streamed",
    [
      [headers(), "headers ask -length"],
      [body("secret", true), 'inspect "secret"'],
      [DENY, "refuse 403 guardrail_denied"],
      [response.headers()],
      [body("more")],
      ["left"],
    ],
  ],
  [
    "streamed: a body that ends in trailers",
    "streamed",
    [
      [headers(), "headers ask -length"],
      [body("h"), "chunk nothing"],
      [trailers, "refuse 501 trailers_not_inspected"],
    ],
  ],
  [
    "streamed: a second end",
    "streamed",
    [
      [headers(), "headers ask -length"],
      [body("hi", true), 'inspect "hi"'],
      [body("", true)],
      [ALLOW, "chunk itself"],
      [body("", true)],
    ],
  ],
  [
    "streamed: a whole body of a filter that buffers",
    "streamed",
    [
      [headers(false, "buffered"), "headers ask -length"],
      [body("hi", true), 'inspect "hi"'],
      [ALLOW, "chunk itself"],
    ],
  ],
  [
    "duplex: no answer before the end, then the whole body",
    "duplex",
    [
      [headers(false, "duplex")],
      [body("h")],
      [body("i")],
      [body("", true), 'inspect "hi"'],
      [ALLOW, "headers", 'piece "hi" end'],
      [body("", true)],
      ["left"],
    ],
  ],
  [
    "duplex: redacted, with a new length",
    "duplex",
    [[headers()], [body("hi", true), 'inspect "hi"'], [REWRITE, "headers -length", 'piece "[redacted]" end']],
  ],
  [
    "duplex: trailers end it",
    "duplex",
    [[headers()], [body("hi")], [trailers, 'inspect "hi"'], [ALLOW, "headers", 'piece "hi"', "trailers"]],
  ],
  [
    "duplex: trailers without an end",
    "duplex",
    [[headers()], [trailers, 'inspect ""'], [ALLOW, "headers", "trailers"]],
  ],
  [
    "duplex: an empty body",
    "duplex",
    [[headers()], [body("", true), 'inspect ""'], [ALLOW, "headers", 'piece "" end']],
  ],
  [
    "duplex: a long body leaves in pieces",
    "duplex",
    [
      [headers()],
      [body("a".repeat(124_001), true), "inspect 124001 bytes"],
      [ALLOW, "headers", "piece 62000 bytes", "piece 62000 bytes", 'piece "a" end'],
    ],
  ],
  [
    "duplex: denied",
    "duplex",
    [[headers()], [body("hi", true), 'inspect "hi"'], [DENY, "refuse 403 guardrail_denied"]],
  ],
  [
    "the stream ends before the body",
    "streamed",
    [
      [headers(), "headers ask -length"],
      ["left", "count body_not_sent", "fail abandoned"],
    ],
  ],
  ["the stream ends before the held body", "duplex", [[headers()], [body("h")], ["left", "fail abandoned"]]],
  [
    "the peer is silent during the inspection: the answer comes first",
    "duplex",
    [[headers()], [body("h", true), 'inspect "h"'], ["left"], [ALLOW, "headers", 'piece "h" end']],
  ],
  ["a stream without a message", "streamed", [["left"]]],
  ["a body before its headers", "streamed", [[body("h"), "fail out_of_order"]]],
  ["a response before its request", "streamed", [[response.headers(), "fail out_of_order"]]],
  [
    "repeated headers",
    "streamed",
    [
      [headers(), "headers ask -length"],
      [headers(), "fail out_of_order"],
    ],
  ],
  [
    "a body where there is none",
    "streamed",
    [
      [headers(true), 'inspect ""'],
      [body("h", true), "fail out_of_order"],
    ],
  ],
  [
    "trailers after the end",
    "duplex",
    [[headers()], [body("h", true), 'inspect "h"'], [trailers, "fail out_of_order"], [ALLOW]],
  ],
  [
    "a response whose request's body was never sent",
    "streamed",
    [
      [headers(false, "none"), "headers ask -length"],
      [response.headers(), "count body_not_sent", "response headers"],
    ],
  ],
  [
    "a response body whose headers the filter keeps",
    "streamed",
    [
      [headers(true), 'inspect ""'],
      [ALLOW, "headers"],
      [response.body("x"), "response chunk itself"],
    ],
  ],
];

describe("messages and their answers", () => {
  for (const [what, mode, moves] of ROWS) {
    test(what, () => {
      const peer = exchange({ mode });
      for (const [move, ...expected] of moves) {
        const actual = move === "left" ? peer.leave() : "side" in move ? peer.arrive(move) : peer.decide(move);
        assert.deepEqual(actual, expected);
      }
    });
  }
});

describe("responses that are not inspected pass unchanged", () => {
  const begun = (mode: PeerMode | undefined) => {
    const peer = exchange();
    peer.arrive(headers(true, mode && "none", mode));
    peer.decide(ALLOW);
    return peer;
  };

  for (const mode of [undefined, "none", "streamed", "buffered"] as const) {
    test(`with a filter in mode ${mode}`, () => {
      const peer = begun(mode);
      assert.deepEqual(peer.arrive(response.headers()), ["response headers"]);
      assert.deepEqual(peer.arrive(response.body("a")), ["response chunk itself"]);
      assert.deepEqual(peer.arrive(response.body("", true)), ["response chunk itself"]);
    });
  }

  test("with a duplex filter, in its pieces and with its trailers", () => {
    const peer = begun("duplex");
    assert.deepEqual(peer.arrive(response.headers()), ["response headers"]);
    assert.deepEqual(peer.arrive(response.body("a")), ['response piece "a"']);
    assert.deepEqual(peer.arrive(response.trailers), ["response trailers"]);
    const twice = begun("duplex");
    twice.arrive(response.headers());
    assert.deepEqual(twice.arrive(response.body("a", true)), ['response piece "a" end']);
    assert.deepEqual(twice.arrive(response.body("", true)), []);
  });
});

test("an unsupported mode is reported at the first message, with both names", () => {
  const modes: readonly PeerMode[] = ["none", "streamed", "buffered", "buffered_partial", "duplex"];
  const refused = (mode: ExchangeOptions["mode"]): readonly PeerMode[] =>
    modes.filter((peer) => exchange({ mode }).arrive(headers(false, peer)).includes("fail mode_mismatch"));
  assert.deepEqual(refused("streamed"), ["buffered_partial", "duplex"]);
  assert.deepEqual(refused("duplex"), ["none", "streamed", "buffered", "buffered_partial"]);
});

test("a body is buffered up to its limit, and one byte more is refused", () => {
  for (const mode of ["streamed", "duplex"] as const) {
    const peer = exchange({ mode });
    peer.arrive(headers());
    assert.deepEqual(peer.arrive(body(Buffer.alloc(MAX_BODY_BYTES))), mode === "streamed" ? ["chunk nothing"] : []);
    assert.deepEqual(peer.arrive(body("x", true)), ["refuse 413 body_too_large"]);
  }
});

test("a request without room in memory is refused with the reason", () => {
  const peer = exchange({ reserve: (bytes) => bytes <= 10 });
  peer.arrive(headers());
  assert.deepEqual(peer.arrive(body("0123456789")), ["chunk nothing"]);
  assert.deepEqual(peer.arrive(body("x")), ["refuse 503 overloaded"]);
});
