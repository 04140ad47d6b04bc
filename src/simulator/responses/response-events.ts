/**
 * Events of a response's stream. One item is open at a time, ids and indexes do not change, `sequence_number` rises by
 * one, and the last event repeats what was sent before it. Source: responses reference, 7.
 */

import { piecesOf, wordsOf } from "../answer-text.ts";
import type { Reply } from "../generate-reply.ts";
import type { Call } from "../route-types.ts";
import {
  type CustomItem,
  type FunctionItem,
  type Item,
  type MessageItem,
  type Part,
  shortageOf,
} from "./response-items.ts";
import { responseObject } from "./simulated-response.ts";

/** Number of characters of a call's arguments in one event. */
const ARGUMENT_PIECE = 12;

const FAILURE = { code: "server_error", message: "The simulated provider failed within the stream." };

export interface ResponseEvent {
  readonly type: string;
  /** Whole event as JSON text. */
  readonly json: string;
  /** Item that ends with the event. */
  readonly item?: Item;
}

type EventParts = readonly [type: string, members: object, item?: Item];

export function* eventsOf(call: Call, reply: Reply, items: readonly Item[]): Generator<ResponseEvent> {
  let sequence = 0;
  for (const [type, members, item] of eventParts(call, reply, items)) {
    yield eventOf(type, members, sequence, item);
    sequence += 1;
  }
}

/** Returns the end of a stream that fails after `sent` events: the error in both of its forms, then the response. */
export function failureAfter(
  call: Call,
  reply: Reply,
  items: readonly Item[],
  sent: number,
): readonly [ResponseEvent, ResponseEvent] {
  const over: Item[] = [];
  let count = 0;
  for (const { item } of eventsOf(call, reply, items)) {
    if (count === sent) break;
    if (item !== undefined) over.push(item);
    count += 1;
  }
  const facts = { ...FAILURE, param: null };
  const response = responseObject(call, reply, over, { failed: FAILURE });
  return [
    eventOf("error", { ...facts, error: { type: FAILURE.code, ...facts } }, sent),
    eventOf("response.failed", { response }, sent + 1),
  ];
}

function eventOf(type: string, members: object, sequence: number, item?: Item): ResponseEvent {
  const json = JSON.stringify({ type, ...members, sequence_number: sequence });
  return item === undefined ? { type, json } : { type, json, item };
}

function* eventParts(call: Call, reply: Reply, items: readonly Item[]): Generator<EventParts> {
  const started = responseObject(call, reply, [], "started");
  yield ["response.created", { response: started }];
  yield ["response.in_progress", { response: started }];
  for (const [at, item] of items.entries()) {
    yield ["response.output_item.added", { output_index: at, item: begun(item) }];
    yield* bodyOf(item, { item_id: item.id, output_index: at });
    yield ["response.output_item.done", { output_index: at, item }, item];
  }
  const response = responseObject(call, reply, items, "done");
  yield [`response.${shortageOf(reply) === undefined ? "completed" : "incomplete"}`, { response }];
}

function begun(item: Item): object {
  switch (item.type) {
    case "message":
      return { ...item, status: "in_progress", content: [] };
    case "reasoning":
      return { id: item.id, type: item.type, summary: [] };
    case "function_call":
      return { ...item, status: "in_progress", arguments: "" };
    case "custom_tool_call":
      return { ...item, status: "in_progress", input: "" };
  }
}

interface Place {
  readonly item_id: string;
  readonly output_index: number;
}

function* bodyOf(item: Item, place: Place): Generator<EventParts> {
  if (item.type === "message") yield* messageBody(item, place);
  else if (item.type !== "reasoning") yield* callBody(item, place);
  else {
    for (const [index, part] of item.summary.entries()) {
      const at = { ...place, summary_index: index };
      yield ["response.reasoning_summary_part.added", { ...at, part: { ...part, text: "" } }];
      for (const delta of wordsOf(part.text)) yield ["response.reasoning_summary_text.delta", { ...at, delta }];
      yield ["response.reasoning_summary_text.done", { ...at, text: part.text }];
      yield ["response.reasoning_summary_part.done", { ...at, part }];
    }
  }
}

function* messageBody({ content }: MessageItem, place: Place): Generator<EventParts> {
  for (const [index, part] of content.entries()) {
    const at = { ...place, content_index: index };
    yield ["response.content_part.added", { ...at, part: emptied(part) }];
    if (part.type === "refusal") {
      for (const delta of wordsOf(part.refusal)) yield ["response.refusal.delta", { ...at, delta }];
      yield ["response.refusal.done", { ...at, refusal: part.refusal }];
    } else {
      for (const delta of wordsOf(part.text)) yield ["response.output_text.delta", { ...at, delta, logprobs: [] }];
      yield ["response.output_text.done", { ...at, text: part.text, logprobs: [] }];
    }
    yield ["response.content_part.done", { ...at, part }];
  }
}

function emptied(part: Part): Part {
  return part.type === "refusal" ? { ...part, refusal: "" } : { ...part, text: "" };
}

function* callBody(item: FunctionItem | CustomItem, place: Place): Generator<EventParts> {
  if (item.type === "function_call") {
    const { name, arguments: text } = item;
    for (const delta of piecesOf(text, ARGUMENT_PIECE)) {
      yield ["response.function_call_arguments.delta", { ...place, delta }];
    }
    yield ["response.function_call_arguments.done", { ...place, name, arguments: text }];
    return;
  }
  for (const delta of piecesOf(item.input, ARGUMENT_PIECE)) {
    yield ["response.custom_tool_call_input.delta", { ...place, delta }];
  }
  yield ["response.custom_tool_call_input.done", { ...place, input: item.input }];
}
