/**
 * What a message of a session says to those who read it, who are not asked how they do: JSON, another text, or sound.
 * Source: dialects reference, section 4.1; design decisions, section 11, WebSocket.
 */
import { isUtf8 } from "node:buffer";
import type { Frame } from "./types.ts";

export type SessionMessage =
  | { readonly kind: "text" }
  /** No text to anybody. */
  | { readonly kind: "sound" }
  /** A text to some readers, in an encoding that is not read here. */
  | { readonly kind: "unreadable" };

/** Characters that no text holds. */
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f]/;

const TEXT: SessionMessage = { kind: "text" };
const SOUND: SessionMessage = { kind: "sound" };
const UNREADABLE: SessionMessage = { kind: "unreadable" };

/** A frame that says it is text is valid UTF-8 already: who sends another is closed with 1007. */
export function readMessage({ data, isBinary }: Frame): SessionMessage {
  if (!isBinary) return TEXT;
  if (isUtf8(data)) {
    const text = data.toString("utf8");
    if (!CONTROL.test(text)) return TEXT;
  }
  return mayBeJson(data) && readings(data).some(isJson) ? UNREADABLE : SOUND;
}

/** Readers of bytes put a mark for what is no UTF-8, or tell UTF-16 and UTF-32 by their zeros (RFC 4627, section 3). */
function readings(data: Buffer): readonly string[] {
  const swapped = Buffer.from(data.subarray(0, data.length - (data.length % 2))).swap16();
  return [data.toString("utf8"), data.toString("utf16le"), swapped.toString("utf16le"), utf32(data, 0), utf32(data, 3)];
}

/** `lowest`: which byte of four is the lowest. */
function utf32(data: Buffer, lowest: 0 | 3): string {
  let text = "";
  for (let at = 0; at + 3 < data.length; at += 4) {
    const code = lowest === 0 ? data.readUInt32LE(at) : data.readUInt32BE(at);
    text += code > MAX_CODE_POINT ? "\ufffd" : String.fromCodePoint(code);
  }
  return text;
}

const MAX_CODE_POINT = 0x10ffff;

/** What may stand before JSON: white space, byte order marks, zeros of wide characters. */
const BEFORE: ReadonlySet<number> = new Set(Buffer.from([0, 0x09, 0x0a, 0x0d, 0x20, 0xff, 0xfe, 0xef, 0xbb, 0xbf]));
const BEGINS: ReadonlySet<number> = new Set(Buffer.from('{["'));

function mayBeJson(data: Buffer): boolean {
  const first = data.find((byte) => !BEFORE.has(byte));
  return first !== undefined && BEGINS.has(first);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text.replace(/^\ufeff/, ""));
    return true;
  } catch {
    return false;
  }
}
