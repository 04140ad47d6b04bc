/** Inspected responses, message by message. Source: ext-proc reference, A.2, A.3, A.5, A.7. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../../../src/base/index.ts";
import type {
  ExchangeOptions,
  HeadChanges,
  PeerMode,
  ResponseNews,
} from "../../../../src/server/inspector/exchange/index.ts";
import { exchange, headers, response } from "./support.ts";

const EARLY: HeadChanges = { drops: ["content-length"], sets: new Map() };
const AS_IT_CAME: HeadChanges = { drops: [], sets: new Map() };
const DENIED = new GatewayError("guardrail_denied", "Not here.");

const shown = (text: string): ResponseNews => ({ kind: "shown", bytes: Buffer.from(text), head: AS_IT_CAME });
const ended = (text: string): ResponseNews => ({ kind: "ended", bytes: Buffer.from(text), head: AS_IT_CAME });
const refused: ResponseNews = {
  kind: "refused",
  error: DENIED,
  late: Buffer.from("LATE"),
  sets: new Map([[":status", "403"]]),
};

type Mode = "streamed" | "duplex";

interface Terms {
  readonly request?: ExchangeOptions["mode"];
  readonly peer?: PeerMode | undefined;
  readonly isRead?: boolean;
}

/** An exchange whose request was allowed. */
function passed(mode: Mode, { request = "streamed", peer = mode, isRead = true }: Terms = {}) {
  const result = exchange({
    mode: request,
    responses: { mode, requestHeaders: () => undefined, begin: () => (isRead ? EARLY : undefined) },
  });
  result.arrive(headers(true, request, peer));
  result.decide({ kind: "allow" });
  return result;
}

type Move =
  | readonly ["headers" | "end", ...expected: string[]]
  | readonly ["body" | "last", text: string, news: readonly ResponseNews[], ...expected: string[]]
  | readonly ["trailers", news: readonly ResponseNews[], ...expected: string[]]
  | readonly ["news", ResponseNews, ...expected: string[]]
  | readonly ["left", ...expected: string[]];

/** `news` is the inspection's result when it gets the bytes. */
const ROWS: readonly (readonly [what: string, mode: Mode, terms: Terms, moves: readonly Move[]])[] = [
  [
    "streamed: chunks are answered at once, and all of it at the end",
    "streamed",
    {},
    [
      ["headers", "response headers drops content-length"],
      ["body", "a", [], 'feed "a"', "response chunk nothing"],
      ["body", "b", [], 'feed "b"', "response chunk nothing"],
      ["last", "", [ended("ab")], 'feed "" end', 'response chunk "ab"'],
      ["last", "", []],
      ["left"],
    ],
  ],
  [
    "streamed: one chunk that is as it came",
    "streamed",
    {},
    [
      ["headers", "response headers drops content-length"],
      ["last", "ab", [ended("ab")], 'feed "ab" end', "response chunk itself"],
    ],
  ],
  [
    "streamed: each chunk takes what was proven by then",
    "streamed",
    {},
    [
      ["headers", "response headers drops content-length"],
      ["body", "ab", [shown("a")], 'feed "ab"', 'response chunk "a"'],
      ["news", shown("b")],
      ["news", shown("c")],
      ["body", "d", [], 'feed "d"', 'response chunk "bc"'],
      ["last", "", [], 'feed "" end'],
      ["news", ended("d"), 'response chunk "d"'],
    ],
  ],
  [
    "streamed: a denial of all that came in one chunk may still have a status",
    "streamed",
    {},
    [
      ["headers", "response headers drops content-length"],
      ["last", "ab", [refused], 'feed "ab" end', 'response chunk "LATE" :status=403'],
    ],
  ],
  [
    "streamed: a denial in the middle follows what went, and the rest is swallowed",
    "streamed",
    {},
    [
      ["headers", "response headers drops content-length"],
      ["body", "a", [shown("a")], 'feed "a"', 'response chunk "a"'],
      ["body", "b", [shown("b"), refused], 'feed "b"', 'response chunk "bLATE"'],
      ["body", "c", [], "response chunk nothing"],
      ["last", "d", [], "response chunk nothing"],
      ["left"],
    ],
  ],
  [
    "streamed: trailers behind what was all shown",
    "streamed",
    {},
    [
      ["headers", "response headers drops content-length"],
      ["body", "a", [shown("a")], 'feed "a"', 'response chunk "a"'],
      ["trailers", [ended("")], "count response_trailers", 'feed "" end', "response trailers"],
    ],
  ],
  [
    "streamed: trailers while some is held cut it off",
    "streamed",
    {},
    [
      ["headers", "response headers drops content-length"],
      ["body", "a", [], 'feed "a"', "response chunk nothing"],
      ["trailers", [ended("a")], "count response_trailers", 'feed "" end', "refuse 501 trailers_not_inspected"],
    ],
  ],
  [
    "buffered: the headers wait, so that a denial has its status, and trailers follow the one chunk",
    "streamed",
    { peer: "buffered" },
    [
      ["headers", "response headers drops content-length"],
      ["body", "ab", [refused], 'feed "ab" end', "refuse 403 guardrail_denied"],
    ],
  ],
  [
    "buffered: with trailers",
    "streamed",
    { peer: "buffered" },
    [
      ["headers", "response headers drops content-length"],
      ["body", "ab", [ended("x")], 'feed "ab" end', 'response chunk "x"'],
      ["trailers", [], "response trailers"],
    ],
  ],
  [
    "duplex: headers wait for the first byte that may be shown",
    "duplex",
    {},
    [
      ["headers"],
      ["body", "ab", [], 'feed "ab"'],
      ["news", shown("a"), "response headers", 'response piece "a"'],
      ["last", "", [ended("b")], 'feed "" end', 'response piece "b" end'],
      ["last", "", []],
    ],
  ],
  [
    "duplex: a denial before it is a status",
    "duplex",
    {},
    [["headers"], ["body", "a", [refused], 'feed "a"', "refuse 403 guardrail_denied"], ["last", "b", []]],
  ],
  [
    "duplex: a denial after it ends the body, and what still comes is not answered",
    "duplex",
    {},
    [
      ["headers"],
      ["body", "a", [shown("a")], 'feed "a"', "response headers", 'response piece "a"'],
      ["news", refused, 'response piece "LATE" end'],
      ["body", "b", []],
      ["trailers", []],
      ["left"],
    ],
  ],
  [
    "duplex: trailers end it",
    "duplex",
    {},
    [
      ["headers"],
      ["body", "a", [], 'feed "a"'],
      ["trailers", [ended("a")], 'feed "" end', "response headers", 'response piece "a"', "response trailers"],
    ],
  ],
  [
    "duplex: the peer says no more while it is judged: the answer comes first",
    "duplex",
    {},
    [
      ["headers"],
      ["last", "a", [], 'feed "a" end'],
      ["left"],
      ["news", ended("a"), "response headers", 'response piece "a" end'],
    ],
  ],
  [
    "a peer that leaves in the middle gets an error",
    "duplex",
    {},
    [["headers"], ["body", "a", [], 'feed "a"'], ["left", "fail abandoned"]],
  ],
  [
    "one that is left alone, duplex",
    "duplex",
    { isRead: false },
    [
      ["headers", "response headers"],
      ["last", "a", [], 'response piece "a" end'],
    ],
  ],
  [
    "one that is left alone, streamed",
    "streamed",
    { isRead: false },
    [
      ["headers", "response headers"],
      ["last", "a", [], "response chunk itself"],
    ],
  ],
  ["without a body", "duplex", {}, [["end", "response headers"], ["left"]]],
  ["a body before its headers", "duplex", {}, [["last", "a", [], "fail out_of_order"]]],
  [
    "headers twice",
    "streamed",
    {},
    [
      ["headers", "response headers drops content-length"],
      ["headers", "fail out_of_order"],
    ],
  ],
];

describe("response messages and their answers", () => {
  for (const [what, mode, terms, moves] of ROWS) {
    test(what, () => {
      const peer = passed(mode, { ...terms, request: terms.request ?? "streamed", peer: terms.peer ?? mode });
      for (const move of moves) {
        switch (move[0]) {
          case "headers":
          case "end":
            assert.deepEqual(peer.arrive(response.headers(move[0] === "end")), move.slice(1));
            break;
          case "body":
          case "last": {
            const [kind, text, news, ...expected] = move;
            assert.deepEqual(peer.arrive(response.body(text, kind === "last"), news), expected);
            break;
          }
          case "trailers": {
            const [, news, ...expected] = move;
            assert.deepEqual(peer.arrive(response.trailers, news), expected);
            break;
          }
          case "news": {
            const [, news, ...expected] = move;
            assert.deepEqual(peer.report(news), expected);
            break;
          }
          default:
            assert.deepEqual(peer.leave(), move.slice(1));
        }
      }
    });
  }

  test("an informational response may come first", () => {
    const peer = passed("duplex");
    assert.deepEqual(
      peer.arrive({ kind: "headers", side: "response", headers: [":status", "103"], isEnd: false, modes: undefined }),
      ["response headers"],
    );
    assert.deepEqual(peer.arrive(response.headers()), []);
  });

  test("the override requests the response, also without a request body, and is not sent in duplex mode", () => {
    const asked = (mode: Mode, isEnd: boolean): readonly string[] => {
      const peer = exchange({
        mode: "streamed",
        responses: { mode, requestHeaders: () => undefined, begin: () => undefined },
      });
      const result = peer.arrive(headers(isEnd));
      return isEnd ? peer.decide({ kind: "allow" }) : result;
    };
    assert.deepEqual(asked("streamed", false), ["headers ask response -length"]);
    assert.deepEqual(asked("streamed", true), ["headers response"]);
    assert.deepEqual(asked("duplex", false), ["headers -length"]);
    assert.deepEqual(asked("duplex", true), ["headers"]);
  });

  test("unsupported modes are reported at the first message, and responses that never come are counted", () => {
    const modes: readonly PeerMode[] = ["none", "streamed", "buffered", "buffered_partial", "duplex"];
    const first = (mode: Mode, request: PeerMode, peer: PeerMode): readonly string[] => {
      const own = request === "duplex" ? "duplex" : "streamed";
      return exchange({ mode: own, responses: { mode, requestHeaders: () => undefined, begin: () => EARLY } }).arrive(
        headers(false, request, peer),
      );
    };
    const refusedOf = (mode: Mode): readonly PeerMode[] =>
      modes.filter((peer) => first(mode, "streamed", peer).includes("fail mode_mismatch"));
    assert.deepEqual(refusedOf("streamed"), ["buffered_partial", "duplex"]);
    assert.deepEqual(refusedOf("duplex"), ["streamed", "buffered", "buffered_partial"]);
    assert.deepEqual(first("duplex", "none", "duplex"), ["fail mode_mismatch"]);
    assert.deepEqual(first("duplex", "streamed", "none"), ["count response_not_sent", "headers -length"]);
    assert.deepEqual(first("streamed", "duplex", "none"), ["count response_not_sent"]);
    const kept = passed("streamed", { peer: "none" });
    assert.deepEqual(kept.leave(), ["count response_not_sent"]);
  });
});
