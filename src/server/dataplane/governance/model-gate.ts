/**
 * Models that a WebSocket client asks for within its session: a profile's list holds for them too. Source: specification
 * document 3, `allowed_models`; dialects reference, section 4.1.
 */
import { type Member, memberValue, scanObject } from "../../core/dialects/index.ts";

/** Where an event of the client names a model that will answer: the event itself, its response, its session. */
const NAME = "model";
const HOLDERS = ["response", "session"];

const QUOTED = Buffer.from('"model"');
/** JSON may write any character of a name as an escape. */
const ESCAPE = Buffer.from("\\u");

/** True: the message may pass. One that two readers may read differently may not. */
export function modelGate(allows: (model: string) => boolean): (message: Buffer) => boolean {
  const mayName = (bytes: Buffer, isNested: boolean): boolean => {
    const scan = scanObject(bytes, isNested ? [NAME] : [NAME, ...HOLDERS]);
    if (scan.kind === "problem") return false;
    const [model, ...holders] = scan.members;
    if (model !== undefined && !isAllowed(bytes, model, allows)) return false;
    return holders.every((holder) => holder === undefined || mayHold(bytes, holder));
  };
  const mayHold = (bytes: Buffer, { valueStart, valueEnd }: Member): boolean =>
    bytes[valueStart] !== 0x7b || mayName(bytes.subarray(valueStart, valueEnd), true);
  return (message) => !(message.includes(QUOTED) || message.includes(ESCAPE)) || mayName(message, false);
}

function isAllowed(bytes: Buffer, member: Member, allows: (model: string) => boolean): boolean {
  try {
    const model = memberValue(bytes, member);
    return typeof model !== "string" || allows(model);
  } catch {
    return false; // an escape that is none: nobody can tell what it names
  }
}
