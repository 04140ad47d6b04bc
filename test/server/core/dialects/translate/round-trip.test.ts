/**
 * Round trips of requests that both dialects can express: nothing is lost, and opaque parts keep their spelling. A
 * schema with additions for a provider keeps its meaning. Excluded is what has two forms of which only one returns: one
 * text in several blocks, a system prompt in several messages, names of output schemas, a default that need not be
 * sent.
 */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { isClosedSchema } from "../../../../../src/server/core/dialects/fidelity/schemas.ts";
import { readJson, Verbatim, writeJson } from "../../../../../src/server/core/dialects/json/json-source.ts";
import { messagesToChat } from "../../../../../src/server/core/dialects/translate/to-compat/request.ts";
import { chatToMessages } from "../../../../../src/server/core/dialects/translate/to-messages/request.ts";
import type { ChannelTerms } from "../../../../../src/server/core/dialects/translate/types.ts";
import {
  type Choice,
  type NeutralRequest,
  neutralRequests,
  type Piece,
  type Thought,
  type Tool,
} from "./round-trip-requests.ts";

const MODEL = { sent: "m", requested: "m" };
const CHANNEL: ChannelTerms = { claims: () => true, endUserField: "user", acceptsStreamUsage: true };

test("a messages request survives a round trip through a compat request", () => {
  fc.assert(
    fc.property(neutralRequests, (neutral) => {
      const text = writeJson(messagesRequest(neutral));
      const chat = messagesToChat(readJson(text), MODEL, CHANNEL).body;
      const { body } = chatToMessages(readJson(chat), MODEL, CHANNEL);
      const arrived = asSentToMessages(asSentToCompat(neutral));
      assert.deepEqual(meaningOfMessages(body), meaningOfMessages(writeJson(messagesRequest(arrived))));
      for (const opaque of [...unchanged(neutral, arrived), ...inputsOf(neutral)])
        assert.ok(body.includes(opaque), opaque);
    }),
    { numRuns: 300, verbose: true },
  );
});

test("a compat request survives a round trip through a messages request", () => {
  fc.assert(
    fc.property(neutralRequests, (neutral) => {
      const text = writeJson(compatRequest(neutral));
      const messages = chatToMessages(readJson(text), MODEL, CHANNEL).body;
      const { body } = messagesToChat(readJson(messages), MODEL, CHANNEL);
      const arrived = asSentToCompat(asSentToMessages(neutral));
      assert.deepEqual(meaningOfChat(body), meaningOfChat(writeJson(compatRequest(arrived))));
      for (const opaque of unchanged(neutral, arrived)) assert.ok(body.includes(opaque), opaque);
    }),
    { numRuns: 300, verbose: true },
  );
});

test("both dialects express the same conversation", () => {
  fc.assert(
    fc.property(neutralRequests, (neutral) => {
      const messages = writeJson(messagesRequest(neutral));
      const chat = writeJson(compatRequest(neutral));
      const there = messagesToChat(readJson(messages), MODEL, CHANNEL).body;
      assert.deepEqual(meaningOfChat(there), meaningOfChat(writeJson(compatRequest(asSentToCompat(neutral)))));
      const back = chatToMessages(readJson(chat), MODEL, CHANNEL).body;
      assert.deepEqual(
        meaningOfMessages(back),
        meaningOfMessages(writeJson(messagesRequest(asSentToMessages(neutral)))),
      );
    }),
    { numRuns: 300, verbose: true },
  );
});

function messagesRequest(neutral: NeutralRequest): object {
  const { exchanges, choice, temperature, topP, outputSchema } = neutral;
  const turns = exchanges.flatMap(({ thoughts, answer, calls, question }) => [
    {
      role: "assistant",
      content: [
        ...thoughts.map(({ text, signature }) => ({ type: "thinking", thinking: text, signature })),
        ...(answer === undefined ? [] : [{ type: "text", text: answer }]),
        ...calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input: new Verbatim(input) })),
      ],
    },
    {
      role: "user",
      content: [
        ...calls.map(({ id, result }) => ({ type: "tool_result", tool_use_id: id, content: result })),
        ...question.map(messagesBlock),
      ],
    },
  ]);
  return {
    model: MODEL.sent,
    max_tokens: neutral.maxTokens,
    system: neutral.system.length === 0 ? undefined : neutral.system.map((text) => ({ type: "text", text })),
    messages: [{ role: "user", content: neutral.opening.map(messagesBlock) }, ...turns],
    tools: neutral.tools.map(({ name, description, schema }) => ({
      name,
      description,
      input_schema: new Verbatim(schema),
    })),
    tool_choice: choice && {
      type: choice.kind,
      name: choice.kind === "tool" ? neutral.tools[choice.at]?.name : undefined,
      disable_parallel_tool_use: isSerial(neutral) ? true : undefined,
    },
    output_config: outputSchema && { format: { type: "json_schema", schema: new Verbatim(outputSchema) } },
    stop_sequences: neutral.stop.length === 0 ? undefined : neutral.stop,
    temperature,
    top_p: topP,
    stream: neutral.streams ? true : undefined,
  };
}

function messagesBlock(piece: Piece): object {
  switch (piece.kind) {
    case "text":
      return { type: "text", text: piece.text };
    case "image":
      return { type: "image", source: { type: "base64", media_type: piece.mediaType, data: piece.data } };
    case "linked image":
      return { type: "image", source: { type: "url", url: piece.url } };
    case "pdf": {
      const source = { type: "base64", media_type: "application/pdf", data: piece.data };
      return { type: "document", source, title: piece.title };
    }
  }
}

const COMPAT_CHOICES = { auto: "auto", any: "required", none: "none" } as const;

function compatRequest(neutral: NeutralRequest): object {
  const { exchanges, choice, temperature, topP, outputSchema } = neutral;
  const turns = exchanges.flatMap(({ thoughts, answer, calls, question }) => [
    {
      role: "assistant",
      ...compatThoughts(thoughts),
      content: answer ?? null,
      tool_calls:
        calls.length === 0
          ? undefined
          : calls.map(({ id, name, input }) => ({ id, type: "function", function: { name, arguments: input } })),
    },
    ...calls.map(({ id, result }) => ({ role: "tool", tool_call_id: id, content: result })),
    ...(question.length === 0 ? [] : [{ role: "user", content: question.map(compatPart) }]),
  ]);
  const system = neutral.system.map((text) => ({ type: "text", text }));
  return {
    model: MODEL.sent,
    max_completion_tokens: neutral.maxTokens,
    messages: [
      ...(system.length === 0 ? [] : [{ role: "system", content: system }]),
      { role: "user", content: neutral.opening.map(compatPart) },
      ...turns,
    ],
    tools: neutral.tools.map(({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: new Verbatim(schema) },
    })),
    tool_choice: choice && compatChoice(choice, neutral.tools),
    parallel_tool_calls: isSerial(neutral) ? false : undefined,
    response_format: outputSchema && {
      type: "json_schema",
      json_schema: {
        name: "output",
        schema: new Verbatim(outputSchema),
        strict: isClosedSchema(JSON.parse(outputSchema)),
      },
    },
    stop: neutral.stop.length === 0 ? undefined : neutral.stop,
    temperature,
    top_p: topP,
    ...(neutral.streams && { stream: true, stream_options: { include_usage: true } }),
  };
}

function compatThoughts(thoughts: readonly Thought[]): object {
  if (thoughts.length === 0) return {};
  return {
    reasoning_content: thoughts.map(({ text }) => text).join(""),
    reasoning_details: thoughts.map((thought, index) => ({ type: "reasoning.text", ...thought, index })),
  };
}

function compatPart(piece: Piece): object {
  switch (piece.kind) {
    case "text":
      return { type: "text", text: piece.text };
    case "image":
      return { type: "image_url", image_url: { url: `data:${piece.mediaType};base64,${piece.data}` } };
    case "linked image":
      return { type: "image_url", image_url: { url: piece.url } };
    case "pdf": {
      const file_data = `data:application/pdf;base64,${piece.data}`;
      return { type: "file", file: { filename: piece.title, file_data } };
    }
  }
}

function compatChoice(choice: Choice, tools: readonly Tool[]): unknown {
  if (choice.kind !== "tool") return COMPAT_CHOICES[choice.kind];
  return { type: "function", function: { name: tools[choice.at]?.name } };
}

/** The messages dialect expresses it with the tool choice, and not without one. */
function isSerial({ isSerial, choice }: NeutralRequest): boolean {
  return isSerial && choice !== undefined && choice.kind !== "none";
}

/** Compat requires the properties of a tool's object, even if there are none. */
function asSentToCompat(neutral: NeutralRequest): NeutralRequest {
  const tools = neutral.tools.map((tool) => {
    const schema = JSON.parse(tool.schema) as Loose;
    const isBare = schema.type === "object" && schema.properties === undefined;
    return isBare ? { ...tool, schema: `${tool.schema.slice(0, -1)},"properties":{}}` } : tool;
  });
  return { ...neutral, tools };
}

/** The messages dialect requires every object of an answer to exclude additional properties. */
function asSentToMessages(neutral: NeutralRequest): NeutralRequest {
  if (neutral.outputSchema === undefined) return neutral;
  const input: unknown = JSON.parse(neutral.outputSchema);
  const narrowed = JSON.stringify(narrow(input));
  return narrowed === JSON.stringify(input) ? neutral : { ...neutral, outputSchema: narrowed };
}

function narrow(schema: unknown): unknown {
  const { properties, items, anyOf, ...others } = schema as Loose;
  return {
    ...others,
    ...(properties !== undefined && {
      properties: Object.fromEntries(Object.entries(properties as Loose).map(([name, part]) => [name, narrow(part)])),
    }),
    ...(items !== undefined && { items: narrow(items) }),
    ...(anyOf !== undefined && { anyOf: (anyOf as readonly unknown[]).map(narrow) }),
    ...(others.type === "object" && { additionalProperties: false }),
  };
}

/** Texts of schemas that needed no additions. */
function unchanged(neutral: NeutralRequest, arrived: NeutralRequest): readonly string[] {
  const texts = new Set(schemasOf(arrived));
  return schemasOf(neutral).filter((text) => texts.has(text));
}

const schemasOf = ({ tools, outputSchema }: NeutralRequest): readonly string[] => [
  ...tools.map(({ schema }) => schema),
  ...(outputSchema === undefined ? [] : [outputSchema]),
];

const inputsOf = ({ exchanges }: NeutralRequest): readonly string[] =>
  exchanges.flatMap(({ calls }) => calls.map(({ input }) => input));

type Loose = Record<string, unknown>;

/** Normalizes the spelling of numbers. A negative zero has no meaning. */
const meaningOf = (text: string): Loose => JSON.parse(JSON.stringify(JSON.parse(text))) as Loose;

/** Treats a text and a list of one text block as equal, also in tool results. */
function meaningOfMessages(text: string): Loose {
  const request = meaningOf(text);
  const messages = (request.messages as readonly Loose[]).map((message) => ({
    ...message,
    content: asList(message.content).map((block) => (block.type === "tool_result" ? evenResult(block) : block)),
  }));
  return { ...request, ...(request.system !== undefined && { system: asList(request.system) }), messages };
}

function evenResult(block: Loose): Loose {
  return { ...block, content: asList(block.content) };
}

function meaningOfChat(text: string): Loose {
  const request = meaningOf(text);
  const messages = (request.messages as readonly Loose[]).map((message) => ({
    ...message,
    content: message.content === null ? null : asList(message.content),
  }));
  return { ...request, messages };
}

const asList = (content: unknown): readonly Loose[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : (content as readonly Loose[]);
