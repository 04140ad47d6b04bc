/**
 * Events of a realtime session: a pure function of what the client has sent.
 *
 * Source: the compat dialect's realtime documentation. The session uses text; audio is counted but not transcribed.
 */

import { wordsOf } from "./answer-text.ts";
import { errorTypes } from "./dialect-errors.ts";
import type { Fault } from "./fault-table.ts";
import { type Reply, replyTo } from "./generate-reply.ts";
import { countPrompt, type GenerationRequest } from "./generation-request.ts";
import { type JsonObject, objectOf, objectsOf, stringOf } from "./json-fields.ts";
import type { Memory } from "./provider-memory.ts";
import { idOf, type Tokens } from "./route-types.ts";

interface RealtimeSession {
  readonly model: string;
  readonly serial: number;
  /** Texts of the conversation, which are counted again for each response, as real sessions bill it. */
  readonly texts: string[];
  question: string;
  responses: number;
  items: number;
}

/** Maximum number of texts in a conversation, since a session may last long. */
const MAX_TEXTS = 1_000;

export function openSession(model: string, serial: number): RealtimeSession {
  return { model, serial, texts: [], question: "", responses: 0, items: 0 };
}

export function sessionEvent(type: "session.created" | "session.updated", session: RealtimeSession, asked: JsonObject) {
  const { model, serial } = session;
  const fixed = { type: "realtime", object: "realtime.session", id: idOf("sess_", serial), model };
  return { type, event_id: idOf("event_", serial), session: { output_modalities: ["text"], ...asked, ...fixed } };
}

export function realtimeError(status: number, message: string, eventId: string | undefined): JsonObject {
  const { compatType, compatCode } = errorTypes(status);
  const error = { type: compatType, code: compatCode, message, param: null, event_id: eventId ?? null };
  return { type: "error", event_id: "event_error", error };
}

/** Answers every client event except `response.create`. */
export function answerClientEvent(session: RealtimeSession, event: JsonObject): readonly JsonObject[] {
  const id = stringOf(event["event_id"]);
  switch (event["type"]) {
    case "session.update":
      return [sessionEvent("session.updated", session, objectOf(event["session"]) ?? {})];
    case "conversation.item.create": {
      const asked = objectOf(event["item"]) ?? {};
      session.items += 1;
      const item = { id: `${idOf("item_", session.serial)}_${session.items}`, object: "realtime.item", ...asked };
      const text = textOf(asked);
      session.texts.push(text);
      if (session.texts.length > MAX_TEXTS) session.texts.shift();
      if (asked["role"] === "user") session.question = text;
      return [
        { type: "conversation.item.added", previous_item_id: null, item },
        { type: "conversation.item.done", previous_item_id: null, item },
      ];
    }
    case "input_audio_buffer.append":
      return [];
    case "input_audio_buffer.clear":
      return [{ type: "input_audio_buffer.cleared" }];
    case "input_audio_buffer.commit":
      session.items += 1;
      return [
        {
          type: "input_audio_buffer.committed",
          previous_item_id: null,
          item_id: `${idOf("item_", session.serial)}_${session.items}`,
        },
      ];
    case "response.cancel":
      return [realtimeError(400, "No response is being made.", id)];
    default:
      return [realtimeError(400, "The event's type is not one the simulated provider knows.", id)];
  }
}

function textOf(item: JsonObject): string {
  const parts = objectsOf(item["content"]).map((part) => stringOf(part["text"]) ?? stringOf(part["transcript"]) ?? "");
  return parts.join(" ");
}

interface RealtimeResponse {
  readonly events: Iterable<JsonObject>;
  readonly tokens: Tokens;
}

/** Answers `response.create`. */
export function respond(session: RealtimeSession, event: JsonObject, fault: Fault, memory: Memory): RealtimeResponse {
  const asked = objectOf(event["response"]) ?? {};
  const prompt = countPrompt();
  prompt.text(stringOf(asked["instructions"]) ?? "");
  for (const text of session.texts) prompt.text(text);
  const inline = objectsOf(asked["input"]).map(textOf);
  for (const text of inline) prompt.text(text);
  const generation: GenerationRequest = {
    model: session.model,
    question: inline.at(-1) ?? session.question,
    toolAnswer: undefined,
    toolRounds: 0,
    tools: [],
    allowsParallel: false,
    answerSchema: undefined,
    isThinking: false,
    prompt: prompt.done(),
    maxTokens: undefined,
    stops: [],
  };
  const reply = replyTo(generation, fault, memory);
  session.responses += 1;
  session.items += 1;
  const { input, output } = reply.usage;
  return { events: responseEvents(session, reply), tokens: { input, output } };
}

function* responseEvents(session: RealtimeSession, reply: Reply): Generator<JsonObject> {
  const id = `${idOf("resp_", session.serial)}_${session.responses}`;
  const itemId = `${idOf("item_", session.serial)}_${session.items}`;
  const response = { object: "realtime.response", id, status: "in_progress", output: [], usage: null };
  const item = { id: itemId, object: "realtime.item", type: "message", role: "assistant" };
  const place = { response_id: id, item_id: itemId, output_index: 0, content_index: 0 };
  const part = { type: "output_text", text: reply.text };
  const done = { ...item, status: "completed", content: [part] };
  let sent = 0;
  const event = (type: string, fields: JsonObject): JsonObject => {
    sent += 1;
    return { type, event_id: `${id}_${sent}`, ...fields };
  };
  yield event("response.created", { response });
  const added = { ...item, status: "in_progress", content: [] };
  yield event("response.output_item.added", { response_id: id, output_index: 0, item: added });
  yield event("response.content_part.added", { ...place, part: { type: "output_text", text: "" } });
  for (const delta of wordsOf(reply.text)) yield event("response.output_text.delta", { ...place, delta });
  yield event("response.output_text.done", { ...place, text: reply.text });
  yield event("response.content_part.done", { ...place, part });
  yield event("response.output_item.done", { response_id: id, output_index: 0, item: done });
  const { input, output } = reply.usage;
  const usage = {
    total_tokens: input + output,
    input_tokens: input,
    output_tokens: output,
    input_token_details: { text_tokens: input, audio_tokens: 0, image_tokens: 0, cached_tokens: 0 },
    output_token_details: { text_tokens: output, audio_tokens: 0 },
  };
  yield event("response.done", { response: { ...response, status: "completed", output: [done], usage } });
}
