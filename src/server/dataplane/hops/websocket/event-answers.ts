/**
 * Maps an upstream event of a session to the answer that it belongs to, whose texts are inspected, held back and recorded
 * together. Source: dialects reference, section 4.1.
 */
import { RESPONSE_ENDS, scanObject, stringValue } from "../../../core/dialects/index.ts";

interface EventAnswer {
  /** Name of the answer; `undefined` for an event that belongs to no answer. */
  readonly answer: string | undefined;
  /** Whether this is the last event of the answer. */
  readonly isEnd: boolean;
  /** Id of an item of the answer. */
  readonly item: string | undefined;
}

const NO_ANSWER: EventAnswer = { answer: undefined, isEnd: false, item: undefined };

const END_EVENTS: ReadonlySet<string> = new Set(["response.done", ...RESPONSE_ENDS]);
const TRANSCRIPTION = /^conversation\.item\.input_audio_transcription\.(\w+)$/;
const TRANSCRIPTION_ENDS: ReadonlySet<string> = new Set(["completed", "failed"]);

/**
 * Finds the answers of events. It keeps the current answer, because Responses over WebSocket name the answer in its first event
 * only.
 */
export class EventAnswers {
  #current = "";

  /**
   * Returns the place of an event. `answerOf` returns the answer of an item that an earlier event named. `isUnderWay` returns
   * whether an answer of this name is open.
   */
  answerOf(
    event: Buffer,
    answerOfItem: (item: string) => string | undefined,
    isOpen: (answer: string) => boolean,
  ): EventAnswer {
    const scan = scanObject(event, ["type", "response_id", "response", "item_id", "item"]);
    if (scan.kind === "problem") return NO_ANSWER;
    const [typeMember, responseId, response, itemId, whole] = scan.members;
    const type = stringValue(event, typeMember) ?? "";
    const item = stringValue(event, itemId) ?? idIn(event, whole);
    const named = stringValue(event, responseId) ?? idIn(event, response);
    if (type.startsWith("response.") || named !== undefined) {
      if (named !== undefined && type === "response.created") this.#current = named;
      return { answer: `response ${named ?? this.#current}`, isEnd: END_EVENTS.has(type), item };
    }
    if (item !== undefined) {
      const answer = answerOfItem(item);
      if (answer?.startsWith("response ") === true) return { answer, isEnd: false, item };
      const transcribing = TRANSCRIPTION.exec(type)?.[1];
      if (transcribing !== undefined)
        return { answer: `item ${item}`, isEnd: TRANSCRIPTION_ENDS.has(transcribing), item };
    }
    // The answer is unknown: all deltas of one type are read as one text.
    const kind = `type ${type.replace(/\.(?:delta|done)$/, "")}`;
    if (type.endsWith(".delta")) return { answer: kind, isEnd: false, item };
    return type.endsWith(".done") && isOpen(kind) ? { answer: kind, isEnd: true, item } : NO_ANSWER;
  }
}

type Member = Parameters<typeof stringValue>[1];

const OPEN_OBJECT = 0x7b;

function idIn(event: Buffer, holder: Member): string | undefined {
  if (holder === undefined || event[holder.valueStart] !== OPEN_OBJECT) return undefined;
  const within = event.subarray(holder.valueStart, holder.valueEnd);
  const scan = scanObject(within, ["id"]);
  return scan.kind === "problem" ? undefined : stringValue(within, scan.members[0]);
}
