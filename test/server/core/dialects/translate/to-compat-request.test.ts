/** Requests of messages clients for compat providers, by the rows of the dialects reference, 8.2, 8.4, 8.6 and 10.3. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { RequestProblem } from "../../../../../src/server/core/dialects/translate/types.ts";
import { assertIsChat, GOLDENS, isAnswered, translate, translateText } from "./to-compat-request-support.ts";

for (const [file, cases] of GOLDENS) {
  test(`each row of ${file} is translated as stated, to what a strict provider accepts`, () => {
    for (const { row, channel, given, expect, answer = {} } of cases) {
      const translated = translate(given, channel);
      assert.deepEqual(translated.body, expect, row);
      assertIsChat(translated.body);
      assert.ok(isAnswered(translated.body), row);
      const { toolNames, ...terms } = translated.answer;
      const shown = { ...terms, toolNames: Object.fromEntries(toolNames) };
      assert.deepEqual({ ...shown, ...answer }, shown, row);
    }
  });
}

test("the rows cover the known request bugs of this direction", () => {
  const bugs = GOLDENS.flatMap(([, cases]) => cases).map(({ row }) => /^bug (\d+):/.exec(row)?.[1]);
  const numbers = new Set(bugs.filter((bug) => bug !== undefined).map(Number));
  assert.deepEqual(
    [...numbers].sort((a, b) => a - b),
    [5, 9, 15, 16, 17, 18, 20, 22],
  );
});

test("schemas, input and arguments keep number spelling and key order", () => {
  const schema =
    '{"type":"object","properties":{"2":{"const":1.0},"1":{"maximum":12345678901234567890}},"__proto__":{"a":1}}';
  const input = '{"b":1.50,"10":1E2,"9":[0.10,-0],"__proto__":{"x":9007199254740993}}';
  const { body } = translateText(
    `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":${input}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}],
    "tools":[{"name":"f","input_schema":${schema}}],"output_config":{"format":{"type":"json_schema","schema":${schema}}}}`,
  );
  assert.ok(body.includes(`"parameters":${schema}`));
  assert.ok(body.includes(`"schema":${schema},"strict":false`));
  assert.ok(body.includes(`"arguments":${JSON.stringify(input)}`));
});

test("a schema that gets added properties keeps the spelling of its parts", () => {
  const schema = '{"type":"object","additionalProperties":{"2":{"const":1.0},"1":{"maximum":12345678901234567890}}';
  const { body } = translateText(
    `{"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f","input_schema":${schema}}}]}`,
  );
  assert.ok(body.includes(`"parameters":${schema},"properties":{}}`), body);
});

test("a shortened name does not collide with another tool's", () => {
  const name = "x".repeat(100);
  const digest = (of: string) => createHash("sha256").update(of).digest("hex").slice(0, 8);
  const first = `${"x".repeat(55)}_${digest(name)}`;
  const tools = [name, first, `${name}y`].map((tool) => ({ name: tool, input_schema: {} }));
  const { body, answer } = translate({ messages: [{ role: "user", content: "Hi" }], tools });
  const sent = (body["tools"] as readonly { function: { name: string } }[]).map((tool) => tool.function.name);
  assert.equal(new Set(sent).size, 3);
  assert.equal(sent[1], first);
  assert.equal(answer.toolNames.get(sent[0] ?? ""), name);
  assert.equal(answer.toolNames.get(sent[2] ?? ""), `${name}y`);
  assert.equal(answer.toolNames.has(first), false);
});

const user = (content: unknown) => ({ messages: [{ role: "user", content }] });
const assistant = (block: unknown) => ({ messages: [{ role: "assistant", content: [block] }] });
const withFields = (fields: object) => ({ ...user("Hi"), ...fields });
const BLOCK = "messages[0].content[0]";

const PROBLEMS: readonly (readonly [param: string, request: unknown])[] = [
  ["body", null],
  ["body", []],
  ["messages", {}],
  ["messages", { messages: "Hi" }],
  ["messages", { messages: [] }],
  ["messages", user("")],
  ["messages[1]", { messages: [{ role: "user", content: "Hi" }, "Hi"] }],
  ["messages[0].role", { messages: [{ role: "tool", content: "Hi" }] }],
  ["messages[0].content", user(7)],
  ["messages[0].content", { messages: [{ role: "assistant" }] }],
  ["messages[0].content", { messages: [{ role: "system", content: null }] }],
  [BLOCK, user(["Hi"])],
  [`${BLOCK}.type`, user([{ text: "Hi" }])],
  [`${BLOCK}.text`, user([{ type: "text" }])],
  [`${BLOCK}.source`, user([{ type: "image" }])],
  [`${BLOCK}.source.data`, user([{ type: "image", source: { type: "base64", media_type: "image/png" } }])],
  [`${BLOCK}.source.media_type`, user([{ type: "document", source: { type: "base64", data: "" } }])],
  [`${BLOCK}.source.url`, user([{ type: "image", source: { type: "url" } }])],
  [`${BLOCK}.title`, user([{ type: "document", title: 1, source: { type: "base64" } }])],
  [BLOCK, user([{ type: "tool_use", id: "t", name: "f", input: {} }])],
  [`${BLOCK}.tool_use_id`, user([{ type: "tool_result" }])],
  [`${BLOCK}.content`, user([{ type: "tool_result", tool_use_id: "t", content: {} }])],
  [`${BLOCK}.content[0]`, user([{ type: "tool_result", tool_use_id: "t", content: ["ok"] }])],
  [`${BLOCK}.is_error`, user([{ type: "tool_result", tool_use_id: "t", is_error: "no" }])],
  [BLOCK, assistant({ type: "tool_result", tool_use_id: "t" })],
  [`${BLOCK}.id`, assistant({ type: "tool_use", id: "", name: "f", input: {} })],
  [`${BLOCK}.name`, assistant({ type: "tool_use", id: "t", input: {} })],
  [`${BLOCK}.input`, assistant({ type: "tool_use", id: "t", name: "f", input: "{}" })],
  [`${BLOCK}.thinking`, assistant({ type: "thinking" })],
  [`${BLOCK}.signature`, assistant({ type: "thinking", thinking: "", signature: 1 })],
  ["system", withFields({ system: 1 })],
  ["system[0]", withFields({ system: ["Hi"] })],
  ["tools", withFields({ tools: {} })],
  ["tools[0]", withFields({ tools: ["f"] })],
  ["tools[0].name", withFields({ tools: [{ input_schema: {} }] })],
  ["tools[0].type", withFields({ tools: [{ type: 1 }] })],
  ["tools[0].input_schema", withFields({ tools: [{ name: "f", input_schema: [] }] })],
  ["tools[0].description", withFields({ tools: [{ name: "f", description: 1 }] })],
  ["tools[0].strict", withFields({ tools: [{ name: "f", strict: 1 }] })],
  ["tools[0].user_location", withFields({ tools: [{ type: "web_search_20250305", user_location: "Paris" }] })],
  ["tools[0].user_location.city", withFields({ tools: [{ type: "web_search_20250305", user_location: { city: 1 } }] })],
  ["tool_choice", withFields({ tool_choice: "auto" })],
  ["tool_choice.type", withFields({ tool_choice: {} })],
  ["tool_choice.name", withFields({ tool_choice: { type: "tool" } })],
  [
    "tool_choice.disable_parallel_tool_use",
    withFields({ tool_choice: { type: "auto", disable_parallel_tool_use: 1 } }),
  ],
  ["max_tokens", withFields({ max_tokens: "64" })],
  ["stream", withFields({ stream: "yes" })],
  ["temperature", withFields({ temperature: {} })],
  ["stop_sequences", withFields({ stop_sequences: "END" })],
  ["stop_sequences[1]", withFields({ stop_sequences: ["END", 1] })],
  ["thinking", withFields({ thinking: true })],
  ["thinking.budget_tokens", withFields({ thinking: { type: "enabled", budget_tokens: "1024" } })],
  ["output_config", withFields({ output_config: "high" })],
  ["output_config.effort", withFields({ output_config: { effort: 1 } })],
  ["output_config.format.schema", withFields({ output_config: { format: { type: "json_schema" } } })],
  ["output_format.schema", withFields({ output_format: { type: "json_schema", schema: "{}" } })],
  ["metadata", withFields({ metadata: "me" })],
  ["metadata.user_id", withFields({ metadata: { user_id: 7 } })],
];

test("a request of another dialect is refused, with the place", () => {
  for (const [param, request] of PROBLEMS) {
    assert.throws(
      () => translate(request),
      (error) => error instanceof RequestProblem && error.param === param && error.message !== "",
      `${param}: ${JSON.stringify(request)}`,
    );
  }
});

test("a number that JSON cannot express is refused", () => {
  assert.throws(
    () => translateText('{"messages":[{"role":"user","content":"Hi"}],"max_tokens":1e400}'),
    RequestProblem,
  );
});
