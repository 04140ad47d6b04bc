/** Strings that grow from event to event are read as clients assemble them, in every form of a stream. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Dialect } from "../../../../../src/server/core/dialects/index.ts";
import { drive, eventsOf, hiding, holding, showing, streamOf } from "./driver.ts";

const chunk = (own: object) => ({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, ...own }] });
const ofThread = (value: string) => ({
  id: "msg_1",
  object: "thread.message.delta",
  delta: { content: [{ index: 0, type: "text", text: { value } }] },
});
const ofStep = (input: string) => ({
  id: "step_1",
  object: "thread.run.step.delta",
  delta: { step_details: { type: "tool_calls", tool_calls: [{ index: 0, code_interpreter: { input } }] } },
});
/** Each place where clients assemble fragments of a text, known or not. */
const GROWING: readonly (readonly [
  what: string,
  dialect: Dialect,
  route: string,
  event: (text: string) => object,
  isOutside?: boolean,
])[] = [
  [
    "custom calls",
    "compat",
    "chat_completions",
    (input) => chunk({ delta: { tool_calls: [{ index: 0, custom: { input } }] } }),
  ],
  ["reasoning_text", "compat", "chat_completions", (reasoning_text) => chunk({ delta: { reasoning_text } })],
  ["analysis", "compat", "chat_completions", (analysis) => chunk({ delta: { analysis } })],
  ["nested members", "compat", "chat_completions", (x) => chunk({ delta: { provider_specific_fields: { x } } })],
  [
    "tools that the provider ran",
    "compat",
    "chat_completions",
    (output) => chunk({ delta: { executed_tools: [{ index: 0, output }] } }),
  ],
  [
    "the same without places",
    "compat",
    "chat_completions",
    (output) => chunk({ delta: { executed_tools: [{ output }] } }),
  ],
  [
    "reasoning_details",
    "compat",
    "chat_completions",
    (text) => chunk({ delta: { reasoning_details: [{ type: "reasoning.text", index: 0, text }] } }),
  ],
  ["content in parts", "compat", "chat_completions", (text) => chunk({ delta: { content: [{ type: "text", text }] } })],
  [
    "the older function_call",
    "compat",
    "chat_completions",
    (text) => chunk({ delta: { function_call: { arguments: text } } }),
  ],
  ["a spoken transcript", "compat", "chat_completions", (transcript) => chunk({ delta: { audio: { transcript } } })],
  ["a name in capitals", "compat", "chat_completions", (Content) => chunk({ delta: { Content } })],
  ["completions", "compat", "completions", (text) => chunk({ text })],
  [
    "an unknown event of responses",
    "compat",
    "responses",
    (delta) => ({ type: "response.new_text.delta", output_index: 0, delta }),
  ],
  [
    "an object in a delta of responses",
    "compat",
    "responses",
    (text) => ({ type: "response.new.delta", output_index: 0, delta: { text } }),
  ],
  [
    "a member next to the delta",
    "compat",
    "responses",
    (more) => ({ type: "response.new.delta", output_index: 0, more }),
  ],
  [
    "a delta with a misleading type",
    "compat",
    "responses",
    (delta) => ({ type: "response.new_text", output_index: 0, delta }),
  ],
  ["runs of assistants", "compat", "threads", ofThread],
  ["steps of assistants", "compat", "threads", ofStep],
  ["transcriptions", "compat", "audio_transcriptions", (delta) => ({ type: "transcript.text.delta", delta })],
  ["a stream of an unknown dialect", "compat", "compat_other", (response) => ({ model: "m", response })],
  [
    "unknown deltas of messages",
    "messages",
    "messages",
    (reasoning) => ({ type: "content_block_delta", index: 0, delta: { type: "reasoning_delta", reasoning } }),
  ],
  [
    "a compaction",
    "messages",
    "messages",
    (content) => ({ type: "content_block_delta", index: 0, delta: { type: "compaction_delta", content } }),
  ],
  [
    "nested members of messages",
    "messages",
    "messages",
    (x) => ({ type: "content_block_delta", index: 0, delta: { type: "new_delta", more: { x } } }),
  ],
  [
    "an unknown event of messages",
    "messages",
    "messages",
    (text) => ({ type: "new_delta", index: 0, delta: { text } }),
  ],
  ["complete", "messages", "complete", (completion) => ({ type: "completion", completion, stop_reason: null })],
  // Outside deltas: shown text stays, and what would complete the word is dropped.
  ["next to the choices", "compat", "chat_completions", (note) => ({ ...chunk({ delta: {} }), note }), true],
  ["next to the delta", "compat", "chat_completions", (note) => chunk({ delta: {}, note }), true],
];

/** Returns the strings of a value at the place where the pattern has `?`. */
function stringAt(pattern: unknown, value: unknown): string {
  if (pattern === "?") return typeof value === "string" ? value : "";
  if (typeof pattern !== "object" || pattern === null || typeof value !== "object" || value === null) return "";
  return Object.entries(pattern)
    .map(([name, inner]) => stringAt(inner, (value as Readonly<Record<string, unknown>>)[name]))
    .join("");
}

for (const [what, dialect, route, event, isOutside] of GROWING) {
  test(`a word in fragments is found: ${what}`, () => {
    const stream = streamOf(["my SEC", "R", "ET", " end"].map(event));
    for (const open of [hiding, holding]) {
      const { shown } = drive(dialect, route, eventsOf(stream), open);
      const joined = eventsOf(shown).map(({ data = "" }) => stringAt(event("?"), JSON.parse(data)));
      assert.equal(joined.join(""), isOutside === true ? "my SECR end" : "my [x] end", shown);
    }
    assert.equal(drive(dialect, route, eventsOf(stream), showing).shown, stream);
  });
}

test("of duplicate members clients get the last, and fragments are joined as clients join them", () => {
  const twins = (last: string, before = "x") =>
    `data: {"choices":[{"index":0,"delta":{"content":${JSON.stringify(before)},"content":${JSON.stringify(last)}}}]}\n\n`;
  for (const stream of [
    twins("my SEC") + twins("RET"),
    `data: {"choices":[{"index":0,"delta":{"content":"x"},"delta":{"content":"SEC"}}]}\n\n${twins("RET")}`,
    `data: {"choices":[],"choices":[{"index":0,"delta":{"content":"SEC"}}]}\n\n${twins("RET")}`,
    `${twins("SEC", "SECRET")}${twins("RET", "SECRET")}`,
    'data: {"choices":[{"index":0,"delta":{"content":"SEC"}}]}\n\ndata: {"choices":[{"index":0,"delta":{"Content":"RET"}}]}\n\n',
  ]) {
    const { shown } = drive("compat", "chat_completions", eventsOf(stream), hiding);
    const made = eventsOf(shown).map(({ data = "" }) => JSON.parse(data).choices[0]?.delta ?? {});
    assert.ok(!shown.includes('"x"') && !shown.includes("SECRET"), shown);
    assert.match(made.map(({ content, Content }) => content ?? Content ?? "").join(""), /^(?:my )?\[x\]$/);
  }
  const block = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x","text":';
  const { shown } = drive(
    "messages",
    "messages",
    eventsOf(`data: ${block}"SEC"}}\n\ndata: ${block}"RET"}}\n\n`),
    hiding,
  );
  assert.ok(!shown.includes('"x"') && shown.includes("[x]"), shown);
});

test("a text that comes as a part and as a string in turn is one text", () => {
  const events = [
    [{ type: "text", text: "a SEC" }],
    "RET or SE",
    [
      { type: "text", text: "CR" },
      { type: "reference", reference_ids: [1] },
      { type: "text", text: "ET b" },
    ],
    "",
  ].map((content, at) => chunk({ delta: { content }, finish_reason: at === 3 ? "stop" : null }));
  for (const open of [hiding, holding]) {
    const { shown } = drive("compat", "chat_completions", eventsOf(streamOf(events)), open);
    assert.doesNotMatch(shown, /SEC|RET|CR/);
    assert.match(assembled(shown), /^a \[x\] or \[x\] b$/);
  }
});

/** Returns the text that a client assembles from strings and parts. */
function assembled(stream: string): string {
  let text = "";
  for (const [, data = ""] of stream.matchAll(/^data: (\{.*)$/gm)) {
    const { choices } = JSON.parse(data) as { choices: { delta: { content?: string | { text?: string }[] } }[] };
    const content = choices[0]?.delta.content ?? "";
    text += typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
  }
  return text;
}

test("a block of any type begins once, whatever strings it begins with", () => {
  const begun = { type: "future", name: "n", label: "a SECRET label", note: "SEC", nested: { text: "SECRET" } };
  const events = [
    { type: "content_block_start", index: 0, content_block: begun },
    { type: "content_block_stop", index: 0 },
    { type: "content_block_start", index: 1, content_block: { type: "compaction", content: "a SEC" } },
    { type: "content_block_delta", index: 1, delta: { type: "compaction_delta", content: "RET b" } },
    { type: "content_block_stop", index: 1 },
    { type: "content_block_start", index: 2, content_block: { type: "compaction", content: "whole SEC" } },
    { type: "content_block_stop", index: 2 },
  ];
  for (const open of [hiding, holding]) {
    const { shown } = drive("messages", "messages", eventsOf(streamOf(events)), open);
    assert.equal(shown.match(/"type":"content_block_start"/g)?.length, 3, shown);
    assert.doesNotMatch(shown, /SECRET/);
    assert.match(shown, /"label":"a \[x\] label","note":"SEC","nested":\{"text":"\[x\]"\}/);
    const summary = [...shown.matchAll(/"index":1,.*"content":"([^"]*)"/g)].map(([, content]) => content).join("");
    assert.equal(summary, "a [x] b");
  }
});
