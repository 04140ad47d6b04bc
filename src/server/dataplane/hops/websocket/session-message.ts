/**
 * Classifies a message of a session by how its receiver might read it: JSON, other text, or sound. Source: dialects reference,
 * section 4.1; design decisions, section 11, WebSocket.
 */
import { isUtf8 } from "node:buffer";
import type { Frame } from "./tunnel-types.ts";

type SessionMessage =
  | { readonly kind: "text" }
  /** Data that is not text in any encoding. */
  | { readonly kind: "sound" }
  /** Text in an encoding that the gateway does not read. */
  | { readonly kind: "unreadable" };

/** Matches characters that do not occur in text. */
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f]/;

const TEXT: SessionMessage = { kind: "text" };
const SOUND: SessionMessage = { kind: "sound" };
const UNREADABLE: SessionMessage = { kind: "unreadable" };

/**
 * Classifies a message. A text frame is always valid UTF-8, because `ws` closes a connection that sends anything else with
 * 1007.
 */
export function classifyMessage({ data, isBinary }: Frame): SessionMessage {
  if (!isBinary) return TEXT;
  if (isUtf8(data)) {
    const text = data.toString("utf8");
    if (!CONTROL.test(text)) return TEXT;
  }
  return mayBeJson(data) && decodings(data).some(isJson) ? UNREADABLE : SOUND;
}

/**
 * Returns the texts that a receiver might read from the bytes: UTF-8 with replacement characters, or UTF-16 and UTF-32,
 * recognized by their zero bytes (RFC 4627, section 3).
 */
function decodings(data: Buffer): readonly string[] {
  const swapped = Buffer.from(data.subarray(0, data.length - (data.length % 2))).swap16();
  return [data.toString("utf8"), data.toString("utf16le"), swapped.toString("utf16le"), utf32(data, 0), utf32(data, 3)];
}

/** Decodes UTF-32. `lowest`: index of the least significant of four bytes. */
function utf32(data: Buffer, lowest: 0 | 3): string {
  let text = "";
  for (let at = 0; at + 3 < data.length; at += 4) {
    const code = lowest === 0 ? data.readUInt32LE(at) : data.readUInt32BE(at);
    text += code > MAX_CODE_POINT ? "\ufffd" : String.fromCodePoint(code);
  }
  return text;
}

const MAX_CODE_POINT = 0x10ffff;

/** Bytes that may precede JSON: white space, byte order marks, zeros of wide characters. */
const BYTES_BEFORE_JSON: ReadonlySet<number> = new Set(
  Buffer.from([0, 0x09, 0x0a, 0x0d, 0x20, 0xff, 0xfe, 0xef, 0xbb, 0xbf]),
);
const FIRST_BYTES_OF_JSON: ReadonlySet<number> = new Set(Buffer.from('{["'));

function mayBeJson(data: Buffer): boolean {
  const first = data.find((byte) => !BYTES_BEFORE_JSON.has(byte));
  return first !== undefined && FIRST_BYTES_OF_JSON.has(first);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text.replace(/^\ufeff/, ""));
    return true;
  } catch {
    return false;
  }
}
