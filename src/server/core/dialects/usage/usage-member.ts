/**
 * Reads the `usage` member of one JSON event, and detects cheaply that an event has none.
 *
 * Most events of a stream are text and are not parsed. If an event may have usage, only the usage itself is parsed; the rest
 * of the answer is skipped as bytes.
 */
import { type Member, memberValue, scanObject } from "../json/json-scan.ts";

/** Maximum size of a `usage` value in bytes; it is usually about a hundred bytes. */
export const MAX_USAGE_BYTES = 64 << 10;

const NAME = '"usage"';
const NAME_BYTES = Buffer.from(NAME);

/**
 * Returns whether an object follows the name anywhere in the text. Inside a JSON string the quotes of the name would be
 * escaped, so an answer that mentions usage does not match; neither does `"usage":null`, which occurs in every chunk.
 */
export function mayHaveUsage(data: string): boolean {
  for (let at = data.indexOf(NAME); at >= 0; at = data.indexOf(NAME, at + NAME.length)) {
    if (opensObject((offset) => data.charCodeAt(offset), at + NAME.length)) return true;
  }
  return false;
}

/** Returns the same as `mayHaveUsage`, for bytes. */
export function mayHaveUsageIn(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(NAME_BYTES); at >= 0; at = bytes.indexOf(NAME_BYTES, at + NAME.length)) {
    if (opensObject((offset) => bytes[offset], at + NAME.length)) return true;
  }
  return false;
}

function opensObject(codeAt: (offset: number) => number | undefined, start: number): boolean {
  for (let at = start; ; at++) {
    const code = codeAt(at);
    if (code === 0x7b) return true;
    if (code !== 0x3a && code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return false;
  }
}

/** Returns the usage, or `undefined` if there is none, or it is not JSON. */
export function usageValue(bytes: Buffer, member: Member | undefined): unknown {
  return member === undefined || member.valueEnd - member.valueStart > MAX_USAGE_BYTES
    ? undefined
    : parsed(bytes, member);
}

/** Returns the `usage` of an object that is itself a member, and the object's `id` if it is a string. */
export function nestedUsage(
  bytes: Buffer,
  member: Member | undefined,
): { readonly usage: unknown; readonly id: string | undefined } {
  const none = { usage: undefined, id: undefined };
  if (member === undefined || bytes[member.valueStart] !== 0x7b) return none;
  const object = bytes.subarray(member.valueStart, member.valueEnd);
  const scan = scanObject(object, ["usage", "id"]);
  if (scan.kind === "problem") return none;
  const [usage, id] = scan.members;
  return { usage: usageValue(object, usage), id: stringValue(object, id) };
}

/** Returns the value of a string member of at most 512 bytes, such as a type or an id; otherwise `undefined`. */
export function stringValue(bytes: Buffer, member: Member | undefined): string | undefined {
  if (member === undefined || member.valueEnd - member.valueStart > 512) return undefined;
  const value = parsed(bytes, member);
  return typeof value === "string" ? value : undefined;
}

function parsed(bytes: Buffer, member: Member): unknown {
  try {
    return memberValue(bytes, member);
  } catch {
    return undefined;
  }
}
