/** Opaque parts of a responses request keep their spelling, and errors quote none of the request. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestProblem } from "../../../../../../src/server/core/dialects/translate/types.ts";
import { TARGETS, translate, translateText } from "./support.ts";

const schema =
  '{"type":"object","properties":{"z":{"enum":[1.0]},"1":{"const":12345678901234567890}},"required":["z","1"],"additionalProperties":false}';

for (const target of TARGETS) {
  test(`schemas and arguments are sent to ${target} as written`, () => {
    const { body } = translateText(
      target,
      `{"input":[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"c","name":"f","arguments":"{\\"a\\":1.0}"},{"type":"function_call_output","call_id":"c","output":"1"}],"tools":[{"type":"function","name":"f","parameters":${schema}}],"text":{"format":{"type":"json_schema","name":"n","schema":${schema}}}}`,
    );
    assert.equal(body.split(schema).length, 3, body);
    assert.ok(body.includes(target === "messages" ? '"input":{"a":1.0}' : '"arguments":"{\\"a\\":1.0}"'), body);
  });

  for (const [param, request] of [
    ["input", {}],
    ["input", { input: 7 }],
    ["input", { input: [] }],
    ["input[0].role", { input: [{ type: "message", role: "secret", content: "secret" }] }],
    ["input[0].content[0].text", { input: [{ role: "user", content: [{ type: "input_text", text: 7 }] }] }],
    [
      "input[1].call_id",
      {
        input: [
          { role: "user", content: "Hi" },
          { type: "function_call", name: "secret" },
        ],
      },
    ],
    [
      "input[1].call_id",
      {
        input: [
          { role: "user", content: "Hi" },
          { type: "function_call_output", name: "secret" },
        ],
      },
    ],
    [
      "input[1]",
      {
        input: [
          { role: "user", content: "Hi" },
          { type: "item_reference", id: "msg_secret" },
        ],
      },
    ],
    ["tools[0].name", { input: "Hi", tools: [{ type: "function" }] }],
    ["tools[0].parameters", { input: "Hi", tools: [{ type: "function", name: "f", parameters: "secret" }] }],
    ["tool_choice", { input: "Hi", tools: [], tool_choice: { type: "function", name: "secret" } }],
    ["max_output_tokens", { input: "Hi", max_output_tokens: 0 }],
    ["text.format.schema", { input: "Hi", text: { format: { type: "json_schema", name: "secret" } } }],
    ["reasoning.effort", { input: "Hi", reasoning: { effort: 3 } }],
  ] as const) {
    test(`${JSON.stringify(request).slice(0, 90)} is the client's error for ${target}`, () => {
      assert.throws(
        () => translate(target, request),
        (error) => error instanceof RequestProblem && error.param === param && !error.message.includes("secret"),
      );
    });
  }
}

test("the answer is read with the renamed names, the echoed settings and the used ids", () => {
  const request = {
    input: [
      { role: "user", content: "Hi" },
      { type: "function_call", call_id: "c:1", name: "read", namespace: "fs", arguments: "{}" },
      { type: "function_call_output", call_id: "c:1", output: "1" },
    ],
    tools: [
      { type: "function", name: "f" },
      { type: "custom", name: "patch" },
      {
        type: "namespace",
        name: "fs",
        tools: [
          { type: "function", name: "read" },
          { type: "custom", name: "edit" },
        ],
      },
    ],
    reasoning: { effort: "low", summary: "auto" },
    store: true,
  };
  for (const target of TARGETS) {
    const { answer } = translate(target, request);
    assert.deepEqual(Object.fromEntries(answer.tools), {
      patch: { name: "patch", namespace: undefined, isCustom: true },
      fs__read: { name: "read", namespace: "fs", isCustom: false },
      fs__edit: { name: "edit", namespace: "fs", isCustom: true },
    });
    assert.deepEqual([...answer.takenCallIds()], ["c:1"]);
    assert.equal(answer.showsSummary, true);
    const { store, tools, reasoning, temperature, metadata } = answer.echo;
    assert.deepEqual(
      { store, tools, reasoning, temperature, metadata },
      { store: false, tools: request.tools, reasoning: request.reasoning, temperature: 1, metadata: {} },
    );
  }
});
