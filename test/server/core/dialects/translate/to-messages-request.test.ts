/** Compat requests in the messages dialect, row by row of the reference: 8.1, 8.3, 8.6 and the bugs of 10.3. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { RequestProblem } from "../../../../../src/server/core/dialects/translate/types.ts";
import {
  assertIsMessages,
  GOLDENS,
  isAnswered,
  MODEL,
  translate,
  translateText,
} from "./to-messages-request-support.ts";

/** Bugs of 10.3 that can affect a request from compat to messages. */
const BUGS = [1, 2, 4, 5, 9, 15, 18, 20, 21, 22, 23, 24];

for (const [file, cases] of GOLDENS) {
  describe(file, () => {
    for (const { row, channel, given, expect, answer } of cases) {
      test(row, () => {
        const made = translate(given, channel);
        assert.deepEqual(made.body, expect);
        assertIsMessages(made.body);
        assert.deepEqual({ ...made.answer, ...answer, client: "compat", model: MODEL }, made.answer);
      });
    }
  });
}

test("each known bug of requests in this direction is covered by a case", () => {
  const rows = GOLDENS.flatMap(([, cases]) => cases.map(({ row }) => row));
  const shown = rows.flatMap((row) => [...row.matchAll(/\bbug (\d+)/g)].map(([, number]) => Number(number)));
  assert.deepEqual(
    [...new Set(shown)].sort((one, other) => one - other),
    BUGS,
  );
});

test("no two cases have the same name", () => {
  const rows = GOLDENS.flatMap(([, cases]) => cases.map(({ row }) => row));
  assert.equal(new Set(rows).size, rows.length);
});

describe("content opaque to the gateway", () => {
  const numbers = '{"b":12345678901234567890,"2":1.0,"1":1e2,"__proto__":{"x":0.10}}';

  test("a tool schema keeps number spelling and key order", () => {
    const schema = `{"type":"object","properties":{"z":{"enum":[1.0]},"1":{}},"default":${numbers}}`;
    const { body } = translateText(
      `{"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]}`,
    );
    assert.ok(body.includes(`"input_schema":${schema}`));
  });

  test("a schema that gets an added type keeps the rest as written", () => {
    const { body } = translateText(
      `{"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"1":{},"a":{"default":1.0}}}}}]}`,
    );
    assert.ok(body.includes(`"input_schema":{"type":"object","properties":{"1":{},"a":{"default":1.0}}}`), body);
  });

  const formatOf = (schema: string) =>
    translateText(
      `{"messages":[{"role":"user","content":"Hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":${schema}}}}`,
    ).body;

  test("an answer schema keeps its spelling if nothing has to be added", () => {
    const inner = '{"type":"object","properties":{"2":{"const":1.0},"1":{}},"additionalProperties":false}';
    for (const schema of [
      `{"type":"object","default":${numbers},"properties":{"b":${inner},"1":${inner}}, "additionalProperties" : false}`,
      `{"type":"array","items":{"enum":[1.0,-0]},"default":${numbers},"minItems":1}`,
    ])
      assert.ok(formatOf(schema).includes(`"format":{"type":"json_schema","schema":${schema}}`));
  });

  test("a narrowed answer schema keeps the spelling of values that are not schemas", () => {
    const schema = `{"type":"object","default":${numbers},"properties":{"a":{"enum":[1.0,12345678901234567890]}}`;
    assert.ok(formatOf(`${schema}}`).includes(`"schema":${schema},"additionalProperties":false}`));
  });

  test("a narrowed schema keeps the spelling and order of everything that stays, at any depth", () => {
    const inner = (end: string) =>
      `{"properties":{"2":{"enum":[1.0,1e400,-0]},"1":{"const":12345678901234567890}}${end}}`;
    const schema = (end: string, item: string) =>
      `{"type":"object","properties":{"10":{"type":"array","items":${item}},"9":{"default":1.0}}${end}}`;
    const shut = ',"additionalProperties":false';
    const body = formatOf(schema("", inner("")));
    assert.ok(body.includes(`"schema":${schema(shut, inner(shut))}}`), body);
  });

  test("bounds that the API refuses are added to the description as written, after the existing text", () => {
    const body = formatOf(
      '{"type":"object","properties":{"a":{"type":"number","minimum":1.0,"maximum":1e400,"description":"An \\"a\\"."},' +
        '"b":{"type":"array","minItems":2,"items":{"type":"string","maxLength":5,"pattern":"^a+$"}}}}',
    );
    const result = [
      '"a":{"type":"number","description":"An \\"a\\".\\n\\n{minimum: 1.0, maximum: 1e400}"}',
      '"b":{"type":"array","items":{"type":"string","pattern":"^a+$","description":"{maxLength: 5}"},"description":"{minItems: 2}"}',
    ];
    assert.ok(body.includes(`"properties":{${result.join(",")}},"additionalProperties":false}`), body);
  });

  test("integer limits that some libraries state are dropped silently", () => {
    const limits = '"minimum":-9007199254740991,"maximum":9007199254740991';
    const body = formatOf(`{"type":"object","properties":{"a":{"type":"integer",${limits}}}}`);
    assert.ok(body.includes('"properties":{"a":{"type":"integer"}}'), body);
  });

  test("of duplicate names in a schema the last is kept", () => {
    const body = formatOf(
      '{"type":"object","properties":{"a":[{}],"a":{"type":"integer","minimum":2}},"properties":{}}',
    );
    assert.ok(body.includes('"schema":{"type":"object","properties":{},"additionalProperties":false}'), body);
  });

  const strictTool = (parameters: string) =>
    translateText(
      `{"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":${parameters}}}]}`,
    ).body;

  test("bounds of a strict tool are added to the description too, and one that cannot be enforced is not strict", () => {
    const bounded = strictTool(
      '{"type":"object","properties":{"a":{"type":"integer","minimum":1}},"additionalProperties":false}',
    );
    const result = '"a":{"type":"integer","description":"{minimum: 1}"}';
    const shut = `{"type":"object","properties":{${result}},"additionalProperties":false}`;
    assert.ok(bounded.includes(`"input_schema":${shut},"strict":true`), bounded);
    const open = '{"type":"object","additionalProperties":true}';
    assert.ok(strictTool(open).includes(`"input_schema":${open}}`), strictTool(open));
    assert.ok(
      strictTool("{}").includes('{"type":"object","properties":{},"additionalProperties":false},"strict":true'),
    );
  });

  test("call arguments keep their spelling", () => {
    assert.ok(callWith(numbers).includes(`"input":${numbers}}`));
    assert.ok(callWith(' {"a" : 1.0}\n').includes('"input": {"a" : 1.0}\n}'));
  });

  test("a lone surrogate in arguments arrives unchanged", () => {
    const bytes = Buffer.from(callWith('{"a":"\ud83d"}'));
    assert.ok(bytes.includes('"input":{"a":"\\ud83d"}}'));
  });
});

/** Translates a history with a call of these arguments. */
function callWith(written: string): string {
  const tool_calls = [{ id: "a", type: "function", function: { name: "f", arguments: written } }];
  const messages = [
    { role: "user", content: "Hi" },
    { role: "assistant", content: null, tool_calls },
    { role: "tool", tool_call_id: "a", content: "1" },
  ];
  return translateText(JSON.stringify({ messages })).body;
}

test("results are in the order of their calls, however many there are", () => {
  const ids = Array.from({ length: 20_000 }, (_, index) => `call.${index}`);
  const calls = ids.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } }));
  const results = ids.toReversed().map((id) => ({ role: "tool", tool_call_id: id, content: id }));
  const { body } = translate({
    messages: [{ role: "user", content: "Hi" }, { role: "assistant", tool_calls: calls }, ...results],
  });
  assert.ok(isAnswered(body));
});

test("ids that all collide take no longer than others", () => {
  const ids = Array.from({ length: 20_000 }, (_, index) => String.fromCharCode(0x4e00 + index));
  const calls = ids.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } }));
  const results = ids.map((id) => ({ role: "tool", tool_call_id: id, content: id }));
  const { body } = translate({
    messages: [{ role: "user", content: "Hi" }, { role: "assistant", tool_calls: calls }, ...results],
  });
  assert.ok(isAnswered(body));
  assert.equal(new Set(JSON.stringify(body["messages"]).match(/"id":"_(?:_\d+)?"/g)).size, ids.length);
});

test("a message with more parts than a function call can have arguments is translated", () => {
  const content = Array.from({ length: 200_000 }, () => ({ type: "text", text: "x" }));
  const { body } = translate({
    messages: [
      { role: "system", content },
      { role: "user", content },
    ],
  });
  assert.equal((body["system"] as readonly unknown[]).length, content.length);
});

const HI = [{ role: "user", content: "Hi" }];
const formatted = (schema: unknown) => ({
  response_format: { type: "json_schema", json_schema: { name: "n", schema } },
});
const call = (made: object) => ({ messages: [...HI, { role: "assistant", tool_calls: [made] }] });

const PROBLEMS: readonly (readonly [what: string, request: unknown, param: string])[] = [
  ["a body that is no object", [], "body"],
  ["no messages", {}, "messages"],
  ["messages that are no array", { messages: "Hi" }, "messages"],
  ["no message with content", { messages: [{ role: "user", content: "" }, { role: "assistant" }] }, "messages"],
  ["a blank system prompt alone", { messages: [{ role: "system", content: " " }] }, "messages"],
  ["a schema in words", { messages: HI, ...formatted("an object") }, "response_format.json_schema.schema"],
  ["a message that is no object", { messages: [...HI, "Hi"] }, "messages[1]"],
  ["a message without a role", { messages: [{ content: "Hi" }] }, "messages[0].role"],
  ["a role of no dialect", { messages: [{ role: "narrator", content: "Hi" }] }, "messages[0].role"],
  ["content of another type", { messages: [{ role: "user", content: 1 }] }, "messages[0].content"],
  ["a part that is no object", { messages: [{ role: "user", content: ["Hi"] }] }, "messages[0].content[0]"],
  ["a part without a type", { messages: [{ role: "user", content: [{ text: "Hi" }] }] }, "messages[0].content[0].type"],
  ["a text without text", { messages: [{ role: "user", content: [{ type: "text" }] }] }, "messages[0].content[0].text"],
  [
    "an image without an address",
    { messages: [{ role: "user", content: [{ type: "image_url", image_url: {} }] }] },
    "messages[0].content[0].image_url.url",
  ],
  ["a file that is none", { messages: [{ role: "user", content: [{ type: "file" }] }] }, "messages[0].content[0].file"],
  ["a call without an id", call({ type: "function", function: { name: "f" } }), "messages[1].tool_calls[0].id"],
  ["a call without a function", call({ id: "a", type: "function" }), "messages[1].tool_calls[0].function"],
  [
    "a call of a nameless function",
    call({ id: "a", type: "function", function: { arguments: "{}" } }),
    "messages[1].tool_calls[0].function.name",
  ],
  [
    "arguments that are a number",
    call({ id: "a", type: "function", function: { name: "f", arguments: 1 } }),
    "messages[1].tool_calls[0].function.arguments",
  ],
  ["a result of no call", { messages: [...HI, { role: "tool", content: "1" }] }, "messages[1].tool_call_id"],
  ["a function's answer without a name", { messages: [...HI, { role: "function", content: "1" }] }, "messages[1].name"],
  ["max_tokens of nought", { messages: HI, max_tokens: 0 }, "max_tokens"],
  ["max_completion_tokens in words", { messages: HI, max_completion_tokens: "many" }, "max_completion_tokens"],
  ["a temperature in words", { messages: HI, temperature: "hot" }, "temperature"],
  ["a stop sequence that is no string", { messages: HI, stop: ["a", 1] }, "stop[1]"],
  ["a stream that is no flag", { messages: HI, stream: "yes" }, "stream"],
  ["a tool that is no object", { messages: HI, tools: ["f"] }, "tools[0]"],
  ["a tool without a function", { messages: HI, tools: [{ type: "function" }] }, "tools[0].function"],
  ["a tool without a name", { messages: HI, tools: [{ type: "function", function: {} }] }, "tools[0].function.name"],
  [
    "a tool's name of other characters",
    { messages: HI, tools: [{ type: "function", function: { name: "get weather" } }] },
    "tools[0].function.name",
  ],
  [
    "parameters that are no object",
    { messages: HI, tools: [{ type: "function", function: { name: "f", parameters: [] } }] },
    "tools[0].function.parameters",
  ],
  [
    "a chosen tool that is not defined",
    { messages: HI, tool_choice: { type: "function", function: { name: "f" } } },
    "tool_choice",
  ],
  [
    "functions beside tools",
    { messages: HI, functions: [{ name: "f" }], tools: [{ type: "function", function: { name: "g" } }] },
    "functions",
  ],
  ["an effort that is no word", { messages: HI, reasoning_effort: 3 }, "reasoning_effort"],
  [
    "a budget of half a token",
    { messages: HI, thinking: { type: "enabled", budget_tokens: 2000.5 } },
    "thinking.budget_tokens",
  ],
];

describe("an invalid request is the client's error and is not quoted", () => {
  for (const [what, request, param] of PROBLEMS) {
    test(what, () => {
      assert.throws(
        () => translate(request),
        (error) => {
          assert.ok(error instanceof RequestProblem);
          assert.equal(error.param, param);
          assert.doesNotMatch(error.message, /Hi|narrator|weather/);
          return true;
        },
      );
    });
  }
});
