/** Framing of an answer's events by their transport: server-sent events, or messages of a session. */
import { replaceData, type SseEvent } from "../sse.ts";

export interface Framing {
  /** Returns the event with other data. */
  readonly replaceData: (event: SseEvent, data: string) => Buffer;
  /** Builds an event from its name and data; the name is empty if the event has only data. */
  readonly buildEvent: (name: string, data: string) => Buffer;
}

export const SSE_FRAMING: Framing = {
  replaceData: replaceData,
  buildEvent: (name, data) => Buffer.from(`${name === "" ? "" : `event: ${name}\n`}data: ${data}\n\n`),
};

export const MESSAGE_FRAMING: Framing = {
  replaceData: (_event, data) => Buffer.from(data),
  buildEvent: (_name, data) => Buffer.from(data),
};

/** Returns a message of a session as an event that consists of data only. */
export function messageEvent(message: Buffer): SseEvent {
  return { bytes: message, event: "", data: message.toString("utf8"), otherLines: "" };
}
