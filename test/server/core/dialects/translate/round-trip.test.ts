/**
 * Requests of what both dialects can say, there and back again: nothing is lost, and what is opaque to the gateway keeps its
 * spelling. Left out is what has two ways of being said, of which only one comes back: one text in several blocks, a
 * system prompt in several messages, names of output schemas, a default that need not be sent.
 */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { readJson, Verbatim, writeJson } from "../../../../../src/server/core/dialects/json-source.ts";
import { messagesToChat } from "../../../../../src/server/core/dialects/translate/to-compat/request.ts";
import { chatToMessages } from "../../../../../src/server/core/dialects/translate/to-messages/request.ts";
import type { ChannelTerms } from "../../../../../src/server/core/dialects/translate/types.ts";

const MODEL = { sent: "m", asked: "m" };
const CHANNEL: ChannelTerms = { claims: () => true, endUserField: "user", acceptsStreamUsage: true };

interface Tool {
  readonly name: string;
  readonly description: string | undefined;
  /** JSON text of an object. */
  readonly schema: string;
}

interface Call {
  readonly id: string;
  readonly name: string;
  /** JSON text of an object. */
  readonly input: string;
  readonly result: string;
}

type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly mediaType: string; readonly data: string }
  | { readonly kind: "linked image"; readonly url: string }
  | { readonly kind: "pdf"; readonly title: string; readonly data: string };

interface Thought {
  readonly text: string;
  readonly signature: string;
}

interface Exchange {
  readonly thoughts: readonly Thought[];
  readonly answer: string | undefined;
  readonly calls: readonly Call[];
  readonly question: readonly Piece[];
}

type Choice = { readonly kind: "auto" | "any" | "none" } | { readonly kind: "tool"; readonly at: number };

/** A request, in the words of neither dialect. */
interface Talk {
  readonly system: readonly string[];
  readonly opening: readonly Piece[];
  readonly exchanges: readonly Exchange[];
  readonly tools: readonly Tool[];
  readonly choice: Choice | undefined;
  readonly isSerial: boolean;
  readonly outputSchema: string | undefined;
  readonly stop: readonly string[];
  readonly maxTokens: number;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly streams: boolean;
}

/** Neither empty nor blank, since either dialect leaves such texts out. */
const words = fc
  .oneof(fc.string({ unit: "binary", maxLength: 12 }), fc.string({ maxLength: 20 }))
  .map((text) => `t${text}.`);

const scalars = fc.oneof(
  fc.constantFrom("1.0", "1e5", "-0", "12345678901234567890", "0.10", '"\\ud800"', "true", "false", "null"),
  fc.integer().map(String),
  fc.string({ unit: "binary", maxLength: 8 }).map((text) => JSON.stringify(text)),
);

const names = fc.oneof(
  fc.constantFrom("type", "properties", "additionalProperties", "10", "9", "__proto__", "constructor", "toJSON"),
  fc.string({ maxLength: 8 }),
);

/** Without spaces and needless escapes, so that texts can be compared whichever way they went. */
const { objects } = fc.letrec<{ values: string; objects: string }>((tie) => ({
  values: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalars,
    fc.array(tie("values"), { maxLength: 3 }).map((items) => `[${items.join(",")}]`),
    tie("objects"),
  ),
  objects: fc
    .uniqueArray(fc.tuple(names, tie("values")), { maxLength: 4, selector: ([name]) => name })
    .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`),
}));

const schemas = objects.map((object) => `{"type":"object","properties":${object}}`);

const base64 = fc.uint8Array({ minLength: 1, maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString("base64"));

const pieces: fc.Arbitrary<Piece> = fc.oneof(
  fc.record({ kind: fc.constant("text" as const), text: words }),
  fc.record({
    kind: fc.constant("image" as const),
    mediaType: fc.constantFrom("image/png", "image/jpeg", "image/gif", "image/webp"),
    data: base64,
  }),
  fc.record({ kind: fc.constant("linked image" as const), url: fc.nat().map((n) => `https://example.com/${n}.png`) }),
  fc.record({ kind: fc.constant("pdf" as const), title: words, data: base64 }),
);

const toolNames = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);

const talks: fc.Arbitrary<Talk> = fc
  .uniqueArray(fc.record({ name: toolNames, description: fc.option(words, { nil: undefined }), schema: schemas }), {
    minLength: 1,
    maxLength: 3,
    selector: ({ name }) => name,
  })
  .chain((tools) => {
    const at = fc.nat(tools.length - 1);
    const calls = fc.array(fc.record({ at, input: objects, result: words }), { maxLength: 3 });
    const exchange = fc.record({
      thoughts: fc.array(fc.record({ text: words, signature: base64 }), { maxLength: 2 }),
      answer: fc.option(words, { nil: undefined }),
      calls,
      question: fc.array(pieces, { maxLength: 3 }),
    });
    return fc.record({
      system: fc.array(words, { maxLength: 3 }),
      opening: fc.array(pieces, { minLength: 1, maxLength: 3 }),
      exchanges: fc.array(exchange, { maxLength: 3 }).map((raw) => exchangesOf(raw, tools)),
      tools: fc.constant(tools),
      choice: fc.option(
        fc.oneof(
          fc.constantFrom<Choice>({ kind: "auto" }, { kind: "any" }, { kind: "none" }),
          at.map((place): Choice => ({ kind: "tool", at: place })),
        ),
        { nil: undefined },
      ),
      isSerial: fc.boolean(),
      outputSchema: fc.option(schemas, { nil: undefined }),
      stop: fc.array(words, { maxLength: 4 }),
      maxTokens: fc.integer({ min: 1, max: 100_000 }),
      temperature: fc.option(fc.constantFrom(0, 0.3), { nil: undefined }),
      topP: fc.option(fc.constantFrom(0.1, 0.95), { nil: undefined }),
      streams: fc.boolean(),
    });
  });

interface RawExchange {
  readonly thoughts: readonly Thought[];
  readonly answer: string | undefined;
  readonly calls: readonly { readonly at: number; readonly input: string; readonly result: string }[];
  readonly question: readonly Piece[];
}

/** Every call has an id of its own; a turn without calls has an answer, and one that follows it a question. */
function exchangesOf(raw: readonly RawExchange[], tools: readonly Tool[]): readonly Exchange[] {
  return raw.map(({ thoughts, answer, calls, question }, turn) => ({
    thoughts,
    answer: calls.length === 0 ? (answer ?? "Well.") : answer,
    calls: calls.map(({ at, input, result }, n) => ({
      id: `call-${turn}_${n}`,
      name: tools[at]?.name ?? "",
      input,
      result,
    })),
    question: calls.length === 0 && question.length === 0 ? [{ kind: "text", text: "And?" }] : question,
  }));
}

test("a messages request is the same after it was a compat request", () => {
  fc.assert(
    fc.property(talks, (talk) => {
      const text = writeJson(messagesRequest(talk));
      const chat = messagesToChat(readJson(text), MODEL, CHANNEL).body;
      const { body } = chatToMessages(readJson(chat), MODEL, CHANNEL);
      assert.deepEqual(evenMessages(JSON.parse(body)), evenMessages(JSON.parse(text)));
      for (const opaque of [...schemasOf(talk), ...inputsOf(talk)]) assert.ok(body.includes(opaque), opaque);
    }),
    { numRuns: 500, verbose: true },
  );
});

test("a compat request is the same after it was a messages request", () => {
  fc.assert(
    fc.property(talks, (talk) => {
      const text = writeJson(compatRequest(talk));
      const messages = chatToMessages(readJson(text), MODEL, CHANNEL).body;
      const { body } = messagesToChat(readJson(messages), MODEL, CHANNEL);
      assert.deepEqual(evenChat(JSON.parse(body)), evenChat(JSON.parse(text)));
      for (const schema of schemasOf(talk)) assert.ok(body.includes(schema), schema);
    }),
    { numRuns: 500, verbose: true },
  );
});

test("what is said in one dialect is what the other says", () => {
  fc.assert(
    fc.property(talks, (talk) => {
      const messages = messagesRequest(talk);
      const chat = compatRequest(talk);
      const there = messagesToChat(readJson(writeJson(messages)), MODEL, CHANNEL).body;
      assert.deepEqual(evenChat(JSON.parse(there)), evenChat(JSON.parse(writeJson(chat))));
      const back = chatToMessages(readJson(writeJson(chat)), MODEL, CHANNEL).body;
      assert.deepEqual(evenMessages(JSON.parse(back)), evenMessages(JSON.parse(writeJson(messages))));
    }),
    { numRuns: 500, verbose: true },
  );
});

function messagesRequest(talk: Talk): object {
  const { exchanges, choice, temperature, topP, outputSchema } = talk;
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
    max_tokens: talk.maxTokens,
    system: talk.system.length === 0 ? undefined : talk.system.map((text) => ({ type: "text", text })),
    messages: [{ role: "user", content: talk.opening.map(messagesBlock) }, ...turns],
    tools: talk.tools.map(({ name, description, schema }) => ({
      name,
      description,
      input_schema: new Verbatim(schema),
    })),
    tool_choice: choice && {
      type: choice.kind,
      name: choice.kind === "tool" ? talk.tools[choice.at]?.name : undefined,
      disable_parallel_tool_use: isSerial(talk) ? true : undefined,
    },
    output_config: outputSchema && { format: { type: "json_schema", schema: new Verbatim(outputSchema) } },
    stop_sequences: talk.stop.length === 0 ? undefined : talk.stop,
    temperature,
    top_p: topP,
    stream: talk.streams ? true : undefined,
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

function compatRequest(talk: Talk): object {
  const { exchanges, choice, temperature, topP, outputSchema } = talk;
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
  const system = talk.system.map((text) => ({ type: "text", text }));
  return {
    model: MODEL.sent,
    max_completion_tokens: talk.maxTokens,
    messages: [
      ...(system.length === 0 ? [] : [{ role: "system", content: system }]),
      { role: "user", content: talk.opening.map(compatPart) },
      ...turns,
    ],
    tools: talk.tools.map(({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: new Verbatim(schema) },
    })),
    tool_choice: choice && compatChoice(choice, talk.tools),
    parallel_tool_calls: isSerial(talk) ? false : undefined,
    response_format: outputSchema && {
      type: "json_schema",
      json_schema: { name: "output", schema: new Verbatim(outputSchema), strict: true },
    },
    stop: talk.stop.length === 0 ? undefined : talk.stop,
    temperature,
    top_p: topP,
    ...(talk.streams && { stream: true, stream_options: { include_usage: true } }),
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

/** The messages dialect says it with the choice, and not where there is none to make. */
function isSerial({ isSerial, choice }: Talk): boolean {
  return isSerial && choice !== undefined && choice.kind !== "none";
}

const schemasOf = ({ tools, outputSchema }: Talk): readonly string[] => [
  ...tools.map(({ schema }) => schema),
  ...(outputSchema === undefined ? [] : [outputSchema]),
];

const inputsOf = ({ exchanges }: Talk): readonly string[] =>
  exchanges.flatMap(({ calls }) => calls.map(({ input }) => input));

type Loose = Record<string, unknown>;

/** A text and a list of one text block are the same; so are results of tools. */
function evenMessages(request: Loose): Loose {
  const messages = (request.messages as readonly Loose[]).map((message) => ({
    ...message,
    content: asList(message.content).map((block) => (block.type === "tool_result" ? evenResult(block) : block)),
  }));
  return { ...request, ...(request.system !== undefined && { system: asList(request.system) }), messages };
}

function evenResult(block: Loose): Loose {
  return { ...block, content: asList(block.content) };
}

function evenChat(request: Loose): Loose {
  const messages = (request.messages as readonly Loose[]).map((message) => ({
    ...message,
    content: message.content === null ? null : asList(message.content),
  }));
  return { ...request, messages };
}

const asList = (content: unknown): readonly Loose[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : (content as readonly Loose[]);
