/**
 * Faults that a model name can select, as a table that the parser, the help text and the documentation use.
 *
 * A name that begins like a row with a parameter but has an invalid parameter, or that joins an unknown name, is
 * refused with 400: a mistyped name must not look like a healthy provider. `match-model-name.ts` explains how names are parsed.
 */

import { parseDuration } from "../base/index.ts";
import { matcherOf, type NameRow, partsOf } from "./match-model-name.ts";
import { matchVariant } from "./response-variants.ts";

/** Faults without a parameter; the model name is `sim-` and the kind. */
type PlainKind =
  | "drop-before-headers"
  | "drop-mid-stream"
  | "drop-mid-body"
  | "error-first-event"
  | "error-mid-stream"
  | "garbage"
  | "bad-http"
  | "never"
  | "reset"
  | "reset-mid-stream"
  | "stall-mid-stream"
  | "empty"
  | "no-text"
  | "gzip";

export type Fault =
  | { readonly kind: "none" }
  | { readonly kind: PlainKind }
  | { readonly kind: "status"; readonly status: number; readonly retryAfterSeconds: number | undefined }
  /** Delay before the first byte, in milliseconds. */
  | { readonly kind: "slow"; readonly ms: number }
  /** Delay between the chunks, in milliseconds. */
  | { readonly kind: "slow-stream"; readonly ms: number }
  | { readonly kind: "long"; readonly words: number }
  | { readonly kind: "big"; readonly kib: number }
  | { readonly kind: "flaky"; readonly failures: number }
  /** Close code, for WebSockets only. */
  | { readonly kind: "close"; readonly code: number }
  /** Name of a row whose parameter is invalid. */
  | { readonly kind: "unreadable"; readonly name: string };

type FaultRow = NameRow<Fault>;

/** Maximum delay, in milliseconds, since a forgotten request must end at some time. */
export const MAX_WAIT_MS = 3_600_000;

/** Maximum number of words. A word is a chunk; a million words are 6 MB of text. */
const MAX_WORDS = 1_000_000;

/** Maximum size: 64 MiB, which is also the limit of request bodies. */
const MAX_KIB = 65_536;

const STATUSES: readonly (readonly [number, string])[] = [
  [400, "the request is invalid"],
  [401, "the credential is not recognised"],
  [402, "the account is out of funds"],
  [403, "the credential may not do this"],
  [404, "there is no such model"],
  [408, "the request took too long"],
  [409, "the request conflicts with another"],
  [413, "the request is too large"],
  [422, "the request cannot be processed"],
  [500, "an internal error"],
  [502, "the provider got a bad answer from its backend"],
  [503, "the service is unavailable"],
  [504, "the provider timed out"],
  [529, "the provider is overloaded"],
];

const NONE: Fault = { kind: "none" };

export const FAULTS: readonly FaultRow[] = [
  {
    name: "sim-429",
    example: "sim-429",
    effect: "answers 429 with `retry-after: 1`",
    make: () => ({ kind: "status", status: 429, retryAfterSeconds: 1 }),
  },
  {
    name: "sim-429-after-<n>s",
    example: "sim-429-after-30s",
    effect: "answers 429 with `retry-after: <n>`",
    make: (text) => number(text, 86_400, (n) => ({ kind: "status", status: 429, retryAfterSeconds: n })),
  },
  ...STATUSES.map(
    ([status, meaning]): FaultRow => ({
      name: `sim-${status}`,
      example: `sim-${status}`,
      effect: `answers ${status}: ${meaning}`,
      make: () => ({ kind: "status", status, retryAfterSeconds: undefined }),
    }),
  ),
  {
    name: "sim-slow-stream-<duration>",
    example: "sim-slow-stream-200ms",
    effect: "waits before every chunk except the first",
    make: (text) => duration(text, (ms) => ({ kind: "slow-stream", ms })),
  },
  {
    name: "sim-slow-<duration>",
    example: "sim-slow-2s",
    effect: "waits before the first byte",
    make: (text) => duration(text, (ms) => ({ kind: "slow", ms })),
  },
  plain("drop-before-headers", "closes the connection instead of answering"),
  plain("drop-mid-stream", "closes the connection after the first events of a stream, or within a body"),
  plain("drop-mid-body", "closes the connection in the middle of an event, or before the declared length"),
  plain("error-first-event", "answers 200 with a stream whose first event is an error; 529 when not streaming"),
  plain("error-mid-stream", "ends the stream with an error event after its first events; 500 when not streaming"),
  plain("reset", "resets the connection (RST) instead of answering"),
  plain("reset-mid-stream", "resets the connection (RST) at the point where drop-mid-stream closes it"),
  plain("stall-mid-stream", "stops sending after the first events of a stream, or after half of a body"),
  plain("garbage", "answers 200 with a page of HTML"),
  plain("bad-http", "answers with bytes that are not HTTP"),
  plain("never", "accepts the request and never answers"),
  plain("empty", "answers 200 with no body"),
  plain("no-text", "answers without text and with zero output tokens"),
  {
    name: "sim-long-<n>",
    example: "sim-long-500",
    effect: "answers with a text of <n> words, each a chunk when streaming",
    make: (text) => number(text, MAX_WORDS, (words) => ({ kind: "long", words })),
  },
  {
    name: "sim-big-<n>k",
    example: "sim-big-256k",
    effect: "answers with a text of <n> KiB, in chunks of one KiB when streaming",
    make: (text) => number(text, MAX_KIB, (kib) => ({ kind: "big", kib })),
  },
  {
    name: "sim-flaky-<n>",
    example: "sim-flaky-2",
    effect: "answers 503 <n> times per user (or credential), then normally",
    make: (text) => number(text, 1_000, (failures) => ({ kind: "flaky", failures })),
  },
  plain("gzip", "compresses the answer with gzip when the client accepts it"),
  {
    name: "sim-close-<code>",
    example: "sim-close-1011",
    effect: "closes a WebSocket with the code after the first event; HTTP requests get a normal answer",
    make: (text) => number(text, 4_999, (code) => (isCloseCode(code) ? { kind: "close", code } : undefined)),
  },
];

const match = matcherOf(FAULTS);

/**
 * Returns the fault of a model name, which is untrusted input of any length. If it selects several, the first one
 * counts.
 */
export function parseFault(model: string): Fault {
  let fault = NONE;
  const parts = partsOf(model);
  for (const part of parts) {
    const found = match(part) ?? matchVariant(part);
    if (found?.kind === "unreadable") return found;
    if (found === undefined && parts.length > 1) return { kind: "unreadable", name: "sim-<row>+<row>" };
    if (fault === NONE && found !== undefined && "kind" in found.made) fault = found.made;
  }
  return fault;
}

/** Returns the match of one part of a name (see `partsOf`), or `undefined` for an unknown name. */
export function matchFault(part: string): ReturnType<typeof match> {
  return match(part);
}

function plain(kind: PlainKind, effect: string): FaultRow {
  return { name: `sim-${kind}`, example: `sim-${kind}`, effect, make: () => ({ kind }) };
}

/** Returns whether an endpoint may send the close code (RFC 6455 section 7.4 and its registry). */
function isCloseCode(code: number): boolean {
  return (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);
}

function number(text: string, max: number, make: (n: number) => Fault | undefined): Fault | undefined {
  return /^\d{1,7}$/.test(text) && Number(text) <= max ? make(Number(text)) : undefined;
}

function duration(text: string, make: (ms: number) => Fault): Fault | undefined {
  const ms = parseDuration(text);
  return ms !== undefined && ms >= 0 && ms <= MAX_WAIT_MS ? make(ms) : undefined;
}
