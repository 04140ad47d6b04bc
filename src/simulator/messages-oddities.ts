/** Changes a finished stream of the messages dialect by the deviations in `stream-oddities.ts`. */

import { type JsonObject, objectOf, parseJson, stringOf } from "./json-fields.ts";
import type { Oddity } from "./stream-oddities.ts";

type Oddities = ReadonlySet<Oddity>;

const PING: JsonObject = { type: "ping" };

const UNKNOWN: JsonObject = { type: "simulated_event", note: "a type that no client knows yet" };

export function deformEvents(frames: Iterable<string>, oddities: Oddities): readonly string[] {
  let events = Array.from(frames, (frame) => objectOf(parseJson(frame.slice(frame.indexOf("data: ") + 6))) ?? {});
  if (oddities.has("input-at-start")) events = inputsAtStart(events);
  if (oddities.has("no-fragments")) events = events.filter((event) => partialOf(event) !== "");
  if (oddities.has("usage-late")) events = events.map(withoutCounts);
  if (oddities.has("usage-short")) events = events.map(withOutputAlone);
  if (oddities.has("unknown-events")) events = events.flatMap(unknownAfter);
  if (oddities.has("pings"))
    events = events.flatMap((event) => (event["type"] === "message_stop" ? [event] : [event, PING]));
  const texts = events.map((event) => `event: ${stringOf(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`);
  return oddities.has("crlf") ? texts.map((text) => text.replaceAll("\n", "\r\n")) : texts;
}

/** Returns the fragment of a call's input, or `undefined` if the event has none. */
function partialOf(event: JsonObject): string | undefined {
  return stringOf(objectOf(event["delta"])?.["partial_json"]);
}

function inputsAtStart(events: readonly JsonObject[]): JsonObject[] {
  const inputs = new Map<unknown, string>();
  for (const event of events) {
    const partial = partialOf(event);
    if (partial !== undefined) inputs.set(event["index"], (inputs.get(event["index"]) ?? "") + partial);
  }
  return events
    .filter((event) => partialOf(event) === undefined)
    .map((event) => {
      const block = objectOf(event["content_block"]);
      const input = inputs.get(event["index"]) ?? "";
      return block === undefined || input === ""
        ? event
        : { ...event, content_block: { ...block, input: parseJson(input) } };
    });
}

function withoutCounts(event: JsonObject): JsonObject {
  const message = objectOf(event["message"]);
  if (message === undefined) return event;
  const usage = { ...objectOf(message["usage"]), input_tokens: 0, output_tokens: 0 };
  const cache = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  return { ...event, message: { ...message, usage: { ...usage, ...cache } } };
}

function withOutputAlone(event: JsonObject): JsonObject {
  const usage = objectOf(event["usage"]);
  return usage === undefined ? event : { ...event, usage: { output_tokens: usage["output_tokens"] } };
}

function unknownAfter(event: JsonObject): readonly JsonObject[] {
  if (event["type"] === "content_block_start") {
    const delta = { type: "simulated_delta", note: "as well" };
    return [event, UNKNOWN, { type: "content_block_delta", index: event["index"], delta }];
  }
  return event["type"] === "message_start" ? [event, UNKNOWN] : [event];
}
