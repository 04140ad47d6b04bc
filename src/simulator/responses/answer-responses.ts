/**
 * Answers `POST /v1/responses`, whole and streamed, and creates the same events for its WebSocket.
 *
 * Source: the OpenAPI document of the compat dialect; responses reference, 6 and 7. Nothing is stored: a reference to
 * an item or a response adds nothing to a prompt.
 */
import { replyTo, tokensOf } from "../generate-reply.ts";
import { type Answer, type Call, json, type Tokens } from "../route-types.ts";
import { readResponses } from "./parse-responses.ts";
import { eventsOf, failureAfter, type ResponseEvent } from "./response-events.ts";
import { itemsOf } from "./response-items.ts";
import { responseObject } from "./simulated-response.ts";

export type { ResponseEvent } from "./response-events.ts";

interface ResponseStream {
  readonly events: Iterable<ResponseEvent>;
  /** Returns the events that end a stream that fails after `sent` events. */
  readonly failure: (sent: number) => readonly ResponseEvent[];
  readonly tokens: Tokens;
}

export function answerResponses(call: Call): Answer {
  const { reply, items, tokens } = answered(call);
  if (call.body["stream"] !== true || reply.variant.ignoresStream) {
    return json(JSON.stringify(responseObject(call, reply, items, "done")), tokens);
  }
  return {
    kind: "events",
    frames: framesOf(eventsOf(call, reply, items)),
    failure: (sent) => failureAfter(call, reply, items, sent).map(frameOf).join(""),
    tokens,
  };
}

export function streamResponses(call: Call): ResponseStream {
  const { reply, items, tokens } = answered(call);
  return {
    events: eventsOf(call, reply, items),
    failure: (sent) => failureAfter(call, reply, items, sent),
    tokens,
  };
}

export function countResponseTokens(call: Call): Answer {
  const { prompt } = readResponses(call.model, call.body).generation;
  return json(`{"object":"response.input_tokens","input_tokens":${prompt.tokens}}`);
}

function answered(call: Call) {
  const { generation, tools } = readResponses(call.model, call.body);
  const reply = replyTo(generation, call.fault, call.memory);
  return { reply, items: itemsOf(call, reply, tools), tokens: tokensOf(reply.usage) };
}

function* framesOf(events: Iterable<ResponseEvent>): Generator<string> {
  for (const event of events) yield frameOf(event);
}

function frameOf({ type, json: text }: ResponseEvent): string {
  return `event: ${type}\ndata: ${text}\n\n`;
}
