/**
 * Reads the top-level member `usage` of a JSON body chunk by chunk, without keeping the body (RFC 8259). If it is not an object,
 * it reads `meta`, where rerankers report their usage.
 *
 * For every JSON text, the result equals that of the parsed body, wherever the chunks are cut. For a text that is cut off or
 * is not JSON, it is the usage that was complete until then. Only depth and strings are tracked: strings are skipped natively,
 * and below the top level only brackets and quotes matter.
 */

import { objectOf, tryParseJson } from "../json/json-values.ts";
import type { Dialect } from "../routes/routes.ts";
import type { Usage } from "./usage.ts";
import { MAX_USAGE_BYTES } from "./usage-member.ts";
import { isDoubtful, normalizeUsage } from "./usage-normalize.ts";

export interface BodyUsage {
  push(chunk: Buffer): void;
  /** Returns the usage known so far; after the last chunk, that of the whole body. */
  end(): Usage | undefined;
  /** Whether the usage has an impossible count; see `isDoubtful`. */
  readonly isDoubtful: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_M = 0x6d;
const LETTER_U = 0x75;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;
const CLOSE_OBJECT = 0x7d;
const CLOSE_ARRAY = 0x5d;

const NAMES = ["usage", "meta"] as const;
type ScannedName = (typeof NAMES)[number];

/** Maximum length of the name in bytes: `usage` with each letter as a six-byte escape. */
const MAX_NAME_BYTES = 30;
/** Number of bytes of a string examined one by one before the native search takes over. */
const NEAR_BYTES = 48;

const BRACKETS = [QUOTE, OPEN_OBJECT, OPEN_ARRAY, CLOSE_OBJECT, CLOSE_ARRAY];
const MATTERS_BELOW = tableOf(BRACKETS);
const MATTERS_AT_TOP = tableOf([...BRACKETS, COMMA, COLON]);
/** Bytes that may precede the object: white space, and the byte order mark that some servers send. */
const MAY_COME_FIRST = tableOf([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

function tableOf(bytes: readonly number[]): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of bytes) table[byte] = 1;
  return table;
}

export function scanForUsage(dialect: Dialect): BodyUsage {
  let usage: unknown;
  let meta: unknown;
  /** Number of open brackets. The top level of the object is 1. */
  let depth = 0;
  let isDone = false;
  let inString = false;
  /** Whether the previous chunk ended with a backslash that escapes this chunk's first byte. */
  let isEscaped = false;
  let expectsName = false;
  /** Bytes of the current name; `undefined` while the string cannot be one of `NAMES`. */
  let name: string | undefined;
  /** Name of the current member, if it is one of `NAMES`. */
  let member: ScannedName | undefined;
  /** Pieces of the value of the current member. */
  let captured: Buffer[] | undefined;
  let capturedBytes = 0;

  const keep = (piece: Buffer): void => {
    capturedBytes += piece.length;
    if (captured === undefined || capturedBytes > MAX_USAGE_BYTES) captured = [];
    else captured.push(Buffer.from(piece));
  };

  const finish = (piece: Buffer): void => {
    let whole = piece;
    if (capturedBytes > 0) {
      keep(piece);
      whole = Buffer.concat(captured ?? []);
    }
    const isTooLarge = capturedBytes > MAX_USAGE_BYTES || whole.length > MAX_USAGE_BYTES;
    captured = undefined;
    // If a name occurs twice the last value wins, as in JSON.parse.
    const value = isTooLarge ? undefined : tryParseJson(whole.toString("utf8"));
    if (member === "usage") usage = value;
    else meta = value;
    member = undefined;
  };

  const known = (): unknown => objectOf(usage) ?? objectOf(meta) ?? usage;

  /** Returns the offset after the string's closing quote, or the chunk's end if the string continues in the next chunk. */
  const skipString = (chunk: Buffer, start: number): number => {
    let at = isEscaped ? start + 1 : start;
    isEscaped = false;
    for (;;) {
      const near = Math.min(at + NEAR_BYTES, chunk.length);
      while (at < near) {
        const byte = chunk[at];
        if (byte === QUOTE) {
          inString = false;
          return at + 1;
        }
        at += byte === BACKSLASH ? 2 : 1;
      }
      if (at >= chunk.length) {
        isEscaped = at > chunk.length;
        return chunk.length;
      }
      const quote = chunk.indexOf(QUOTE, at);
      const end = quote < 0 ? chunk.length : quote;
      let backslashes = 0;
      while (end - 1 - backslashes >= at && chunk[end - 1 - backslashes] === BACKSLASH) backslashes++;
      isEscaped = backslashes % 2 === 1;
      if (quote < 0) return chunk.length;
      at = quote + 1;
      if (!isEscaped) {
        inString = false;
        return at;
      }
      isEscaped = false;
    }
  };

  return {
    push(chunk) {
      let at = 0;
      let captureStart = 0;
      while (at < chunk.length && !isDone) {
        if (inString) {
          const end = skipString(chunk, at);
          if (name !== undefined) {
            if (name.length <= MAX_NAME_BYTES) {
              name += chunk.toString("latin1", at, Math.min(end, at + MAX_NAME_BYTES + 2));
            }
            if (!inString) {
              member = nameOf(name);
              name = undefined;
            }
          }
          at = end;
          continue;
        }
        if (depth === 0) {
          const byte = chunk[at++] as number;
          if (byte === OPEN_OBJECT) {
            depth = 1;
            expectsName = true;
          } else if (MAY_COME_FIRST[byte] === 0) isDone = true;
          continue;
        }
        const matters = depth === 1 ? MATTERS_AT_TOP : MATTERS_BELOW;
        while (at < chunk.length && matters[chunk[at] as number] === 0) at++;
        if (at === chunk.length) break;
        switch (chunk[at]) {
          case QUOTE:
            inString = true;
            if (expectsName && depth === 1 && mayBeName(chunk[at + 1])) name = "";
            break;
          case OPEN_OBJECT:
          case OPEN_ARRAY:
            depth++;
            break;
          case CLOSE_OBJECT:
          case CLOSE_ARRAY:
            if (depth === 1 && captured !== undefined) finish(chunk.subarray(captureStart, at));
            depth--;
            isDone = depth === 0;
            break;
          case COMMA:
            if (captured !== undefined) finish(chunk.subarray(captureStart, at));
            expectsName = true;
            break;
          default:
            expectsName = false;
            if (member !== undefined && captured === undefined) {
              captured = [];
              capturedBytes = 0;
              captureStart = at + 1;
            }
        }
        at++;
      }
      if (captured !== undefined) keep(chunk.subarray(captureStart));
    },
    end: () => normalizeUsage(dialect, known()),
    get isDoubtful() {
      return isDoubtful(dialect, known());
    },
  };
}

/** Returns whether a name may be one of `NAMES`, by its first byte, which may be in the next chunk. */
function mayBeName(first: number | undefined): boolean {
  return first === undefined || first === LETTER_U || first === LETTER_M || first === BACKSLASH;
}

/** Returns the name, if it is one of `NAMES`. `raw` is the name as it is written, with its closing quote. */
function nameOf(raw: string): ScannedName | undefined {
  const isEscaped = raw.includes("\\") && raw.length <= MAX_NAME_BYTES + 1;
  const name: unknown = isEscaped ? tryParseJson(`"${raw}`) : raw.slice(0, -1);
  return NAMES.find((each) => each === name);
}
