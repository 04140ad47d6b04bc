/**
 * Checks the models that a WebSocket client names within its session against the profile's list. Source: specification document
 * 3, `allowed_models`; dialects reference, section 4.1.
 */
import { isUtf8 } from "node:buffer";
import { type Member, memberValue, scanObject } from "../../../core/dialects/index.ts";

/**
 * Member that names a model, and the objects in which it can occur in a client event: the event itself, its response, its
 * session, and within that the transcription of the caller's speech in the older and newer form of a session.
 */
const NAME = "model";
const CONTAINERS = ["response", "session", "input_audio_transcription", "audio", "input", "transcription"];
const MAX_LEVELS = 5;

/** Matches the member's name, case-insensitively because some JSON parsers ignore case. */
const QUOTED = /"model"/i;
/** Maximum size of a message that is searched for a model instead of being parsed. */
const MAX_SEARCHED_BYTES = 1 << 20;
/** Beginning of an escape, which can spell any character of a member's name in JSON. */
const ESCAPE = Buffer.from("\\u");

export type IsMessageAllowed = (message: Buffer, isBinary: boolean) => boolean;

/** Returns a gate that tells whether a message may pass. A message that different parsers may read differently may not. */
export function modelGate(allows: (model: string) => boolean): IsMessageAllowed {
  const mayName = (bytes: Buffer, level: number): boolean => {
    const scan = scanObject(bytes, level < MAX_LEVELS ? [NAME, ...CONTAINERS] : [NAME], true);
    if (scan.kind === "problem") return false;
    const [model, ...holders] = scan.members;
    if (model !== undefined && !isAllowed(bytes, model, allows)) return false;
    return holders.every((holder) => holder === undefined || mayHold(bytes, holder, level));
  };
  const mayHold = (bytes: Buffer, { valueStart, valueEnd }: Member, level: number): boolean =>
    bytes[valueStart] !== 0x7b || mayName(bytes.subarray(valueStart, valueEnd), level + 1);
  return (message, isBinary) => {
    if (!mayNameModel(message)) return true;
    // Binary audio can contain any bytes. Bytes that are not UTF-8 are not JSON, except to a lenient parser.
    return (isBinary && !isUtf8(message) && !beginsObject(message)) || mayName(message, 1);
  };
}

function mayNameModel(message: Buffer): boolean {
  if (message.length > MAX_SEARCHED_BYTES || message.includes(ESCAPE)) return true;
  return QUOTED.test(message.toString("latin1"));
}

const beginsObject = (message: Buffer): boolean => /^\s*\{\s*"/.test(message.toString("latin1", 0, 64));

function isAllowed(bytes: Buffer, member: Member, allows: (model: string) => boolean): boolean {
  try {
    const model = memberValue(bytes, member);
    return typeof model !== "string" || allows(model);
  } catch {
    return false; // invalid escape: the name is ambiguous
  }
}
