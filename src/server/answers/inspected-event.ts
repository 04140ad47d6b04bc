/**
 * Handles the parts of an event stream that are not texts of events: lines that clients of events do not show, and data that is
 * not an event.
 */
import { EVENT_NAME, type EventTexts, MAX_EVENT_BYTES, type SseEvent } from "../core/dialects/index.ts";
import type { JudgedAnswer } from "../core/guardrails/index.ts";
import { type MaybePromise, mapMaybePromise } from "../core/guardrails/index.ts";

/** Error for an answer whose content cannot be determined, so that it is refused. The message quotes nothing from the answer. */
export class UnreadableAnswer extends Error {
  constructor(message: string) {
    super(`guardrails cannot inspect the answer: ${message}`);
    this.name = "UnreadableAnswer";
  }
}

/** Heartbeat: a comment, which every reader of events skips. */
export const HEARTBEAT_COMMENT = Buffer.from(":\n\n");

/**
 * Returns the event as it is inspected and shown, or `undefined` if the answer is refused. Clients of events do not show
 * comments, ids and invalid lines, but a client that prints the bytes does. They are left out if a rule would rewrite them.
 */
export function inspectNonDataLines(event: SseEvent, answer: JudgedAnswer): MaybePromise<SseEvent | undefined> {
  const { otherLines: aside = "", bytes, data, event: name } = event;
  if (data === undefined && bytes.length > MAX_EVENT_BYTES) throw new UnreadableAnswer("an event is too long");
  const isNamed = EVENT_NAME.test(name);
  if (isNamed && (aside === "" || /^:\s*$/.test(aside))) return event;
  const text = isNamed ? aside : `${name}\n${aside}`;
  return mapMaybePromise(answer.judgeTexts([text]), (rewrites) => {
    if (rewrites === undefined) return undefined;
    return rewrites[0] === undefined ? event : withoutAside(event, isNamed ? name : "");
  });
}

function withoutAside({ data }: SseEvent, event: string): SseEvent {
  if (data === undefined) return { bytes: HEARTBEAT_COMMENT, event: "", data, otherLines: ":" };
  const lines = data.split("\n").map((line) => `data: ${line}\n`);
  return {
    bytes: Buffer.from(`${event === "" ? "" : `event: ${event}\n`}${lines.join("")}\n`),
    event,
    data,
    otherLines: "",
  };
}

/**
 * Throws for an event with JSON that only lenient readers accept: its text may be hidden behind escapes when it is read as plain
 * text.
 */
export function refuseUnreadable({ event, pieces }: EventTexts): void {
  const { data = "" } = event;
  if (pieces.length === 1 && pieces[0]?.channel === "" && hidesText(data)) {
    throw new UnreadableAnswer("an event contains JSON that cannot be parsed");
  }
}

/** Returns whether a text that is not valid JSON may hide text behind escapes. */
export const hidesText = (text: string): boolean => /^\s*[[{"]/.test(text) && text.includes("\\");
