import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { variantOf } from "../../../src/simulator/response-variants.ts";
import { checkChat } from "../../../src/simulator/rules/index.ts";
import { asJson, refusalOf } from "./refusal-of.ts";

const USER = { role: "user", content: "x" };
const BASE = { model: "m", messages: [USER] };

const PARAMETERS = { type: "object", properties: {} };
const tool = (name: string, more: object = {}) => ({
  type: "function",
  function: { name, parameters: PARAMETERS, ...more },
});
const CALL = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
const ASSISTANT = { role: "assistant", content: null, tool_calls: [CALL] };
const RESULT = { role: "tool", tool_call_id: "a", content: "" };

const requestWith = (...messages: unknown[]) => ({ model: "m", messages });
const parts = (...content: unknown[]) => requestWith({ role: "user", content });
const image = (url: string) => ({ type: "image_url", image_url: { url } });
const file = (held: unknown) => ({ type: "file", file: held });
const schema = (strict: boolean, held: unknown) => ({
  ...BASE,
  response_format: { type: "json_schema", json_schema: { name: "s", strict, schema: held } },
});
const CLOSED = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false };

const refused = (body: unknown, model = "sim-small") => refusalOf(() => checkChat(asJson(body), variantOf(model)));

type Row = readonly [body: unknown, message: RegExp, param: string | null, code?: string];

const REFUSED: readonly Row[] = [
  [{ ...BASE, top_k: 5 }, /^Unrecognized request argument supplied: top_k$/, null],
  [{ ...BASE, __proto: 1 }, /^Unrecognized request argument supplied: __proto$/, null],
  [{ model: "m" }, /^Missing required parameter: 'messages'\.$/, "messages", "missing_required_parameter"],
  [requestWith(), /empty array/, "messages", "empty_array"],
  [
    requestWith({ role: "robot", content: "x" }),
    /^Invalid value: 'robot'\. Supported/,
    "messages[0].role",
    "invalid_value",
  ],
  [requestWith({ content: "x" }), /Missing required parameter/, "messages[0].role", "missing_required_parameter"],
  [requestWith({ ...USER, cache_control: {} }), /^Unknown parameter/, "messages[0].cache_control", "unknown_parameter"],
  [requestWith({ ...USER, name: "a b" }), /pattern/, "messages[0].name", "invalid_value"],
  [requestWith({ role: "user", content: null }), /Invalid type/, "messages[0].content", "invalid_type"],
  [requestWith(USER, { role: "assistant", content: null }), /got null/, "messages.[1].content"],
  [requestWith(USER, { ...ASSISTANT, tool_calls: [] }), /empty array/, "messages[1].tool_calls", "empty_array"],
  [requestWith(USER, { ...ASSISTANT, tool_calls: null }), /Invalid type/, "messages[1].tool_calls", "invalid_type"],
  [
    requestWith(USER, { ...ASSISTANT, tool_calls: [{ ...CALL, id: "a".repeat(65) }] }),
    /maximum length 64/,
    "messages[1].tool_calls[0].id",
    "string_above_max_length",
  ],
  [
    requestWith(USER, { ...ASSISTANT, tool_calls: [{ ...CALL, function: { name: "f", arguments: {} } }] }),
    /expected a string/,
    "messages[1].tool_calls[0].function.arguments",
    "invalid_type",
  ],
  [
    requestWith(USER, { ...ASSISTANT, tool_calls: [CALL, CALL] }, RESULT),
    /Duplicate/,
    "messages.[1].tool_calls",
    "invalid_value",
  ],
  [requestWith(RESULT), /response to a preceeding message with 'tool_calls'/, "messages.[0].role"],
  [requestWith(USER, ASSISTANT, { ...RESULT, tool_call_id: "b" }), /response to a preceeding/, "messages.[2].role"],
  [requestWith(USER, ASSISTANT, USER), /did not have response messages: a$/, "messages.[2].role"],
  [requestWith(USER, ASSISTANT), /did not have response messages: a$/, "messages.[2].role"],
  [
    requestWith(USER, ASSISTANT, { ...RESULT, content: [image("https://e/x")] }),
    /Invalid value: 'image_url'/,
    "messages[2].content[0].type",
    "invalid_value",
  ],
  [requestWith({ role: "function", name: "f", content: "x" }), /'function_call'/, "messages.[0].role"],
  [parts({ type: "video" }), /Invalid value: 'video'/, "messages[0].content[0].type", "invalid_value"],
  [parts(), /empty array/, "messages[0].content", "empty_array"],
  [
    parts({ type: "text", text: "x", cache_control: {} }),
    /^Unknown parameter/,
    "messages[0].content[0].cache_control",
    "unknown_parameter",
  ],
  [parts(image("ftp://e/x")), /Invalid image URL/, "messages[0].content[0].image_url.url", "invalid_image_url"],
  [
    parts(image("data:image/png;base64,a===")),
    /Invalid image URL/,
    "messages[0].content[0].image_url.url",
    "invalid_image_url",
  ],
  [
    parts(image("data:application/pdf;base64,aGk=")),
    /unsupported image/,
    "messages[0].content[0].image_url.url",
    "invalid_image_format",
  ],
  [
    parts({ type: "image_url", image_url: { url: "https://e/x", detail: "huge" } }),
    /Supported values/,
    "messages[0].content[0].image_url.detail",
    "invalid_value",
  ],
  [
    parts({ type: "input_audio", input_audio: { data: "aGk=", format: "ogg" } }),
    /'wav', and 'mp3'/,
    "messages[0].content[0].input_audio.format",
    "invalid_value",
  ],
  [parts(file({})), /Missing required/, "messages[0].content[0].file.file_id", "missing_required_parameter"],
  [
    parts(file({ file_id: "f", file_data: "data:application/pdf;base64,aGk=" })),
    /Mutually exclusive/,
    "messages[0].content[0].file",
    "mutually_exclusive_parameters",
  ],
  [
    parts(file({ file_data: "data:video/mp4;base64,aGk=" })),
    /unsupported MIME type 'video\/mp4'/,
    "messages[0].content[0].file.file_data",
    "invalid_value",
  ],
  [{ ...BASE, temperature: 2.1 }, /Expected a value <= 2, but got 2\.1/, "temperature", "decimal_above_max_value"],
  [{ ...BASE, temperature: "1" }, /expected a decimal, but got a string/, "temperature", "invalid_type"],
  [{ ...BASE, top_p: -1 }, />= 0/, "top_p", "decimal_below_min_value"],
  [{ ...BASE, n: 129 }, /<= 128/, "n", "integer_above_max_value"],
  [{ ...BASE, n: 1.5 }, /expected an integer/, "n", "invalid_type"],
  [{ ...BASE, presence_penalty: 3 }, /<= 2/, "presence_penalty", "decimal_above_max_value"],
  [{ ...BASE, stop: ["a", "b", "c", "d", "e"] }, /maximum length 4.*length 5/, "stop", "array_above_max_length"],
  [{ ...BASE, max_completion_tokens: 0 }, />= 1/, "max_completion_tokens", "integer_below_min_value"],
  [{ ...BASE, max_tokens: 1, max_completion_tokens: 1 }, /at the same time/, "max_tokens"],
  [{ ...BASE, top_logprobs: 2 }, /only allowed when 'logprobs'/, "top_logprobs"],
  [{ ...BASE, logprobs: true, top_logprobs: 21 }, /<= 20/, "top_logprobs", "integer_above_max_value"],
  [{ ...BASE, stream_options: { include_usage: true } }, /only allowed when 'stream'/, "stream_options"],
  [
    { ...BASE, stream: true, stream_options: { usage: true } },
    /Unknown parameter/,
    "stream_options.usage",
    "unknown_parameter",
  ],
  [{ ...BASE, tool_choice: "auto" }, /only allowed when 'tools'/, "tool_choice"],
  [{ ...BASE, parallel_tool_calls: true }, /only allowed when 'tools'/, "parallel_tool_calls"],
  [{ ...BASE, tools: null }, /expected an array, but got null/, "tools", "invalid_type"],
  [
    { ...BASE, tools: [{ name: "f", input_schema: {} }] },
    /Missing required/,
    "tools[0].type",
    "missing_required_parameter",
  ],
  [{ ...BASE, tools: [tool("a.b")] }, /pattern/, "tools[0].function.name", "invalid_value"],
  [
    { ...BASE, tools: [tool("a".repeat(65))] },
    /maximum length 64/,
    "tools[0].function.name",
    "string_above_max_length",
  ],
  [
    { ...BASE, tools: [tool("f", { parameters: {} })] },
    /got 'type: "None"'/,
    "tools[0].function.parameters",
    "invalid_function_parameters",
  ],
  [
    { ...BASE, tools: [tool("f", { parameters: { type: "object" } })] },
    /object schema missing properties/,
    "tools[0].function.parameters",
    "invalid_function_parameters",
  ],
  [
    { ...BASE, tools: [tool("f", { strict: true })] },
    /'additionalProperties' is required/,
    "tools[0].function.parameters",
    "invalid_function_parameters",
  ],
  [
    { ...BASE, tools: [tool("f", { strict: true, parameters: { ...CLOSED, required: [] } })] },
    /Missing 'a'/,
    "tools[0].function.parameters",
    "invalid_function_parameters",
  ],
  [
    { ...BASE, tools: [tool("f")], tool_choice: "any" },
    /'none', 'auto', and 'required'/,
    "tool_choice",
    "invalid_value",
  ],
  [
    { ...BASE, tools: [tool("f")], tool_choice: { type: "function", function: { name: "g" } } },
    /named 'g'/,
    "tool_choice",
  ],
  [
    { ...BASE, tools: [tool("f")], tool_choice: { type: "tool", name: "f" } },
    /Invalid value: 'tool'/,
    "tool_choice.type",
    "invalid_value",
  ],
  [schema(true, { ...CLOSED, additionalProperties: true }), /response_format 's': In context=\(\)/, "response_format"],
  [
    schema(true, { ...CLOSED, properties: { a: { type: "object", properties: {} } } }),
    /context=\('properties', 'a'\)/,
    "response_format",
  ],
  [schema(true, { type: "array", items: {} }), /got 'type: "array"'/, "response_format"],
  [
    { ...BASE, response_format: { type: "json_schema", json_schema: { name: "a b" } } },
    /pattern/,
    "response_format.json_schema.name",
    "invalid_value",
  ],
  [{ ...BASE, response_format: { type: "json_object" } }, /must contain the word 'json'/, "messages"],
  [{ ...BASE, reasoning_effort: "extreme" }, /Supported values/, "reasoning_effort", "invalid_value"],
  [{ ...BASE, user: "u".repeat(65) }, /maximum length 64/, "user", "string_above_max_length"],
  [
    { ...BASE, metadata: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, "v"])) },
    /too many properties/,
    "metadata",
    "object_above_max_properties",
  ],
  [{ ...BASE, metadata: { k: 1 } }, /expected a string/, "metadata.k", "invalid_type"],
  [{ ...BASE, modalities: ["text", "audio"] }, /Missing required parameter: 'audio'/, "audio"],
];

for (const [body, message, param, code] of REFUSED) {
  test(`chat: a request is refused with ${message.source} at ${param}`, () => {
    const result = refused(body);
    assert.match(result?.message ?? "accepted", message);
    assert.equal(result?.param, param);
    assert.equal(result?.code ?? undefined, code);
  });
}

const ACCEPTED: Readonly<Record<string, unknown>> = {
  "a tool's empty result": requestWith(USER, ASSISTANT, RESULT),
  "a tool's result that names the tool": requestWith(USER, ASSISTANT, { ...RESULT, name: "get_weather" }),
  "no tools in an empty list": { ...BASE, tools: [] },
  "a parsed answer sent back whole": requestWith(
    USER,
    {
      ...ASSISTANT,
      parsed: null,
      tool_calls: [{ ...CALL, function: { ...CALL.function, parsed_arguments: { a: 1 } } }],
    },
    RESULT,
  ),
  "an answer sent back whole": requestWith(USER, {
    role: "assistant",
    content: "x",
    refusal: null,
    annotations: [],
    audio: null,
    reasoning_content: "y",
  }),
  "media of every kind": parts(
    image("data:image/jpg;base64,aGk="),
    image("http://e/x.png"),
    file({ filename: "a", file_data: "data:application/pdf;base64,aGk=" }),
    file({ file_id: "f" }),
    { type: "input_audio", input_audio: { data: "aGk=", format: "mp3" } },
    { type: "text", text: "", prompt_cache_breakpoint: { mode: "explicit" } },
  ),
  "tools of every kind and an allowed list": {
    ...BASE,
    tools: [
      tool("f"),
      { type: "function", function: { name: "bare" } },
      { type: "custom", custom: { name: "c" } },
      tool("s", { strict: true, parameters: CLOSED }),
    ],
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "f" } }] },
    },
  },
  "the older form of functions": { ...BASE, functions: [{ name: "f" }], function_call: { name: "f" } },
  "members that may be null": {
    ...BASE,
    temperature: null,
    stop: null,
    max_tokens: null,
    n: null,
    stream_options: null,
    metadata: null,
    seed: null,
  },
  "a strict schema": schema(true, CLOSED),
  "an open schema that is not strict": schema(false, { type: "object" }),
};

for (const [what, body] of Object.entries(ACCEPTED)) {
  test(`chat: a request is accepted: ${what}`, () => {
    assert.equal(refused(body), undefined);
  });
}

test("an open model accepts extensions that others refuse", () => {
  const extended = {
    ...requestWith(
      { role: "user", content: [{ type: "text", text: "x", cache_control: { type: "ephemeral" } }] },
      { role: "assistant", content: "y", reasoning_details: [{}] },
    ),
    top_k: 5,
    min_p: 0.1,
    thinking: { type: "enabled", budget_tokens: 5 },
    chat_template_kwargs: {},
  };
  assert.equal(refused(extended, "sim-open:x"), undefined);
  assert.notEqual(refused(extended), undefined);
});

test("a classic model refuses later features, and a reasoning model refuses its own exclusions", () => {
  assert.equal(refused({ ...BASE, max_tokens: 5 }, "sim-classic"), undefined);
  assert.match(refused({ ...BASE, max_completion_tokens: 5 }, "sim-classic")?.message ?? "", /max_completion_tokens$/);
  assert.equal(
    refused(requestWith({ role: "developer", content: "x" }, USER), "sim-classic")?.param,
    "messages[0].role",
  );
  assert.match(refused({ ...BASE, tools: [] }, "sim-classic")?.message ?? "", /^Invalid 'tools': empty array/);
  assert.equal(refused({ ...BASE, max_tokens: 5 }, "sim-reasoning")?.code, "unsupported_parameter");
  assert.equal(refused({ ...BASE, temperature: 0 }, "sim-reasoning")?.code, "unsupported_value");
  assert.equal(refused({ ...BASE, temperature: 1, max_completion_tokens: 5 }, "sim-reasoning"), undefined);
});

test("any JSON in any place is accepted or refused, and nothing else is thrown", () => {
  const member = fc.constantFrom(
    "messages",
    "tools",
    "tool_choice",
    "response_format",
    "stop",
    "metadata",
    "stream_options",
    "audio",
  );
  const value = fc.jsonValue();
  fc.assert(
    fc.property(member, value, value, value, (name, one, two, three) => {
      refused({ ...BASE, [name]: one });
      refused(requestWith(one));
      refused(requestWith({ role: "user", content: two }));
      refused(
        requestWith(USER, { role: "assistant", content: one, tool_calls: two }, { role: "tool", content: three }),
      );
      refused({ ...BASE, tools: [one, { type: "function", function: two }, tool("f", { parameters: three })] });
    }),
    { verbose: 1 },
  );
});
