/** Framing of an answer's events by their transport: server-sent events, or messages of a session. */
import { replaceData, type SseEvent } from "../sse.ts";

export interface Framing {
  /** Returns the event with other data. */
  readonly replaced: (event: SseEvent, data: string) => Buffer;
  /** Builds an event from its name and data; the name is empty if the event has only data. */
  readonly made: (name: string, data: string) => Buffer;
}

export const SENT_EVENTS: Framing = {
  replaced: replaceData,
  made: (name, data) => Buffer.from(`${name === "" ? "" : `event: ${name}\n`}data: ${data}\n\n`),
};

export const MESSAGES: Framing = {
  replaced: (_event, data) => Buffer.from(data),
  made: (_name, data) => Buffer.from(data),
};

/** Returns a message of a session as an event that consists of data only. */
export function messageEvent(message: Buffer): SseEvent {
  return { bytes: message, event: "", data: message.toString("utf8"), otherLines: "" };
}
