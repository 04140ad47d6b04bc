/**
 * Models that a WebSocket client asks for within its session: a profile's list holds for them too. Source: specification
 * document 3, `allowed_models`; dialects reference, section 4.1.
 */
import { isUtf8 } from "node:buffer";
import { type Member, memberValue, scanObject } from "../../../core/dialects/index.ts";

/**
 * Where an event of the client names a model that will work for it: the event itself, its response, its session, and
 * below that what writes down the caller's speech, in the older shape of a session and in the newer.
 */
const NAME = "model";
const HOLDERS = ["response", "session", "input_audio_transcription", "audio", "input", "transcription"];
const MAX_LEVELS = 5;

/** Some readers take no notice of case. */
const QUOTED = /"model"/i;
/** A longer message is looked into in any case. */
const MAX_SEARCHED_BYTES = 1 << 20;
/** JSON may write any character of a name as an escape. */
const ESCAPE = Buffer.from("\\u");

export type ModelGate = (message: Buffer, isBinary: boolean) => boolean;

/** True: the message may pass. One that two readers may read differently may not. */
export function modelGate(allows: (model: string) => boolean): ModelGate {
  const mayName = (bytes: Buffer, level: number): boolean => {
    const scan = scanObject(bytes, level < MAX_LEVELS ? [NAME, ...HOLDERS] : [NAME], true);
    if (scan.kind === "problem") return false;
    const [model, ...holders] = scan.members;
    if (model !== undefined && !isAllowed(bytes, model, allows)) return false;
    return holders.every((holder) => holder === undefined || mayHold(bytes, holder, level));
  };
  const mayHold = (bytes: Buffer, { valueStart, valueEnd }: Member, level: number): boolean =>
    bytes[valueStart] !== 0x7b || mayName(bytes.subarray(valueStart, valueEnd), level + 1);
  return (message, isBinary) => {
    if (!mayNameModel(message)) return true;
    // Sound holds any bytes; what is no text is JSON to nobody, unless to one who forgives it.
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
    return false; // an escape that is none: nobody can tell what it names
  }
}
