/** The official client of the messages dialect, called in each form. */
import assert from "node:assert/strict";
import type Anthropic from "@anthropic-ai/sdk";
import type {
  ContentBlock,
  Message,
  MessageCreateParamsNonStreaming,
  RawMessageStreamEvent,
} from "@anthropic-ai/sdk/resources/messages";
import { normalizeUsage } from "../../../../src/server/core/dialects/usage/usage-normalize.ts";
import { type Form, NO_TURNS, type SdkAnswer } from "./sdk-answer.ts";

export type MessageParams = Omit<MessageCreateParamsNonStreaming, "model" | "stream" | "max_tokens"> & {
  readonly max_tokens?: number;
};

interface MessageCall {
  readonly form: Form;
  readonly model: string;
  readonly params: MessageParams;
}

/** Longer than any answer of the simulated provider except the long ones. */
const MAX_TOKENS = 4_000;

export async function tellByAnthropic(client: Anthropic, call: MessageCall): Promise<SdkAnswer> {
  const { message, pieces } = await assembled(client, call);
  assert.equal(message.type, "message");
  assert.equal(message.role, "assistant");
  const { content } = message;
  const refusal = message.stop_details?.type === "refusal" ? message.stop_details.explanation : undefined;
  return {
    id: message.id,
    model: message.model,
    text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
    refusal: refusal ?? undefined,
    thinking: content.map((block) => (block.type === "thinking" ? block.thinking : "")).join(""),
    signatures: content.flatMap((block) => (block.type === "thinking" && block.signature ? [block.signature] : [])),
    calls: content.flatMap((block) => {
      if (block.type !== "tool_use") return [];
      return [{ id: block.id, name: block.name, input: block.input }];
    }),
    finish: String(message.stop_reason),
    stopSequence: message.stop_sequence,
    pieces,
    usage: normalizeUsage("messages", message.usage),
    turn: { ...NO_TURNS, anthropic: [{ role: "assistant", content }] },
  };
}

async function assembled(client: Anthropic, { form, model, params }: MessageCall) {
  const body = { max_tokens: MAX_TOKENS, ...params, model };
  if (form === "unary") return { message: await client.messages.create(body), pieces: 1 };
  const events: RawMessageStreamEvent[] = [];
  if (form === "raw") {
    for await (const event of await client.messages.create({ ...body, stream: true })) events.push(event);
    return ofEvents(events);
  }
  // The helper continues to build its message from the same event objects.
  const stream = client.messages.stream(body).on("streamEvent", (event) => events.push(structuredClone(event)));
  const message = await stream.finalMessage();
  const read = ofEvents(events);
  assert.deepEqual(textsOf(message), textsOf(read.message), "the helper and the events tell one text");
  return { message, pieces: read.pieces };
}

const textsOf = ({ content }: Message): readonly string[] =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : []));

/** Assembles the events like a program that reads a raw stream; the grammar is in the dialects reference, 5.3. */
function ofEvents(events: readonly RawMessageStreamEvent[]): { message: Message; pieces: number } {
  const [first, ...rest] = events;
  assert.equal(first?.type, "message_start");
  assert.ok(first?.type === "message_start");
  let message: Message = first.message;
  assert.deepEqual(message.content, []);
  assert.equal(rest.at(-1)?.type, "message_stop");
  let pieces = 0;
  let open: ContentBlock | undefined;
  let json = "";
  const content: ContentBlock[] = [];
  for (const event of rest) {
    switch (event.type) {
      case "content_block_start":
        assert.equal(open, undefined, "blocks do not interleave");
        assert.equal(event.index, content.length, "blocks are numbered from 0 without gaps");
        open = { ...event.content_block };
        json = "";
        break;
      case "content_block_delta": {
        assert.equal(event.index, content.length);
        const { delta } = event;
        if (delta.type === "text_delta") {
          assert.ok(open?.type === "text");
          open.text += delta.text;
          pieces += 1;
        } else if (delta.type === "thinking_delta") {
          assert.ok(open?.type === "thinking");
          open.thinking += delta.thinking;
        } else if (delta.type === "signature_delta") {
          assert.ok(open?.type === "thinking");
          open.signature += delta.signature;
        } else if (delta.type === "input_json_delta") {
          assert.ok(open?.type === "tool_use");
          json += delta.partial_json;
        }
        break;
      }
      case "content_block_stop":
        assert.equal(event.index, content.length);
        assert.ok(open);
        if (open.type === "tool_use" && json !== "") open.input = JSON.parse(json);
        content.push(open);
        open = undefined;
        break;
      case "message_delta":
        assert.equal(open, undefined, "every block is closed");
        // Fields that the provider does not repeat keep their value from the start.
        message = { ...message, ...event.delta, usage: { ...message.usage, ...known(event.usage) } };
        break;
      case "message_start":
        assert.fail("a stream starts once");
        break;
      case "message_stop":
        break;
      default:
        event satisfies never;
    }
  }
  return { message: { ...message, content }, pieces };
}

type Known<Values> = { readonly [Name in keyof Values]?: NonNullable<Values[Name]> };

const known = <Values extends object>(values: Values): Known<Values> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)) as Known<Values>;
