/** Requests of clients that consist of many elements of one kind, by their form. */

type Body = (count: number) => object;

const list = (count: number, one: (index: number) => unknown): readonly unknown[] =>
  Array.from({ length: count }, (_, index) => one(index));
const merge = (count: number, one: (index: number) => object): object =>
  Object.assign({}, ...list(count, one)) as object;
/** Nesting is bounded, so there are more of the nested values instead. */
const nested = (depth: number, inner: unknown = 1): unknown =>
  depth === 0 ? inner : { a: [nested(depth - 1, inner)] };
const DEPTH = 40;
const schema = (count: number): object => ({
  type: "object",
  properties: merge(count, (i) => ({ [`p${i}`]: { anyOf: [{ type: "string" }, { type: "null" }], description: "d" } })),
  required: list(count, (i) => `p${i}`),
});
const IMAGE = "data:image/png;base64,iVBORw0KGgo=";

const chat =
  (messages: (count: number) => readonly unknown[], more: Body = () => ({})): Body =>
  (count) => ({ model: "m", messages: [{ role: "user", content: "a" }, ...messages(count)], ...more(count) });
const chatTool = (name: string, parameters: unknown): object => ({ type: "function", function: { name, parameters } });
const chatCall = (id: string, args: string): object => ({
  id,
  type: "function",
  function: { name: "f", arguments: args },
});

export const CHAT_REQUESTS: Readonly<Record<string, Body>> = {
  turns: chat((n) => list(n, (i) => ({ role: i % 2 ? "user" : "assistant", content: "a" }))),
  "turns of one role": chat((n) => list(n, () => ({ role: "user", content: "a" }))),
  instructions: chat((n) => list(n, () => ({ role: "system", content: "a" }))),
  "instructions between turns": chat((n) => list(n, (i) => ({ role: i % 2 ? "user" : "developer", content: "a" }))),
  parts: chat((n) => [{ role: "user", content: list(n, () => ({ type: "text", text: "a" })) }]),
  images: chat((n) => [{ role: "user", content: list(n, () => ({ type: "image_url", image_url: { url: IMAGE } })) }]),
  "calls of one turn": chat((n) => [
    { role: "assistant", content: null, tool_calls: list(n, (i) => chatCall(`c${i}`, '{"a":1.0}')) },
    ...list(n, (i) => ({ role: "tool", tool_call_id: `c${n - 1 - i}`, content: "r" })),
  ]),
  "calls with one id": chat((n) => [
    { role: "assistant", content: null, tool_calls: list(n, () => chatCall("c", "{}")) },
    ...list(n, () => ({ role: "tool", tool_call_id: "c", content: "r" })),
  ]),
  "calls without results": chat((n) => [
    { role: "assistant", content: null, tool_calls: list(n, (i) => chatCall(`c ${i}`, "{}")) },
    { role: "user", content: "a" },
  ]),
  "turns with calls": chat((n) =>
    list(n, (i) => [
      { role: "assistant", content: null, tool_calls: [chatCall(`c${i}`, "{}")] },
      { role: "tool", tool_call_id: `c${i}`, content: "r" },
    ]).flat(),
  ),
  "results without calls": chat((n) => list(n, (i) => ({ role: "tool", tool_call_id: `c${i}`, content: "r" }))),
  "turns with reasoning": chat((n) =>
    list(n, (i) =>
      i % 2
        ? { role: "user", content: "a" }
        : {
            role: "assistant",
            content: "a",
            reasoning_details: [{ type: "reasoning.text", text: "r", signature: "s", index: 0 }],
          },
    ),
  ),
  "details of reasoning": chat((n) => [
    {
      role: "assistant",
      content: "a",
      reasoning_details: list(n, (i) => ({ type: "reasoning.text", text: "r", signature: "s", index: i })),
    },
    { role: "user", content: "a" },
  ]),
  tools: chat(
    () => [],
    (n) => ({ tools: list(n, (i) => chatTool(`f${i}`, { type: "object", properties: {} })) }),
  ),
  "tools with long names": chat(
    () => [],
    (n) => ({ tools: list(n, (i) => chatTool(`${"f".repeat(70)}${i}`, { type: "object", properties: {} })) }),
  ),
  "properties of a tool": chat(
    () => [],
    (n) => ({ tools: [chatTool("f", schema(n))] }),
  ),
  "alternatives of a tool": chat(
    () => [],
    (n) => ({
      tools: [
        chatTool("f", {
          anyOf: list(n, (i) => ({ type: "object", properties: { [`p${i}`]: {} }, required: [`p${i}`] })),
        }),
      ],
    }),
  ),
  "nested tools": chat(
    () => [],
    (n) => ({ tools: list(n / 20, (i) => chatTool(`f${i}`, { type: "object", properties: { a: nested(DEPTH) } })) }),
  ),
  "properties of the output": chat(
    () => [],
    (n) => ({ response_format: { type: "json_schema", json_schema: { name: "o", strict: true, schema: schema(n) } } }),
  ),
  "stop sequences": chat(
    () => [],
    (n) => ({ stop: list(n, (i) => `s${i}`) }),
  ),
  "unknown members": chat(
    () => [],
    (n) => merge(n, (i) => ({ [`x${i}`]: i })),
  ),
  metadata: chat(
    () => [],
    (n) => ({ metadata: merge(n, (i) => ({ [`x${i}`]: "v" })) }),
  ),
};

const messages =
  (turns: (count: number) => readonly unknown[], more: Body = () => ({})): Body =>
  (count) => ({
    model: "m",
    max_tokens: 9,
    messages: [{ role: "user", content: "a" }, ...turns(count)],
    ...more(count),
  });
const use = (id: string): object => ({ type: "tool_use", id, name: "f", input: { a: 1 } });
const result = (id: string): object => ({
  type: "tool_result",
  tool_use_id: id,
  content: [{ type: "text", text: "r" }],
});

export const MESSAGES_REQUESTS: Readonly<Record<string, Body>> = {
  turns: messages((n) => list(n, (i) => ({ role: i % 2 ? "user" : "assistant", content: "a" }))),
  "turns of one role": messages((n) => list(n, () => ({ role: "user", content: "a" }))),
  blocks: messages((n) => [{ role: "user", content: list(n, () => ({ type: "text", text: "a" })) }]),
  "marked blocks": messages((n) => [
    { role: "user", content: list(n, () => ({ type: "text", text: "a", cache_control: { type: "ephemeral" } })) },
  ]),
  images: messages((n) => [
    {
      role: "user",
      content: list(n, () => ({
        type: "image",
        source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
      })),
    },
  ]),
  "calls of one turn": messages((n) => [
    { role: "assistant", content: list(n, (i) => use(`c${i}`)) },
    { role: "user", content: list(n, (i) => result(`c${n - 1 - i}`)) },
  ]),
  "turns with calls": messages((n) =>
    list(n, (i) => [
      { role: "assistant", content: [use(`c${i}`)] },
      { role: "user", content: [result(`c${i}`)] },
    ]).flat(),
  ),
  "images in results": messages((n) => [
    { role: "assistant", content: [use("c")] },
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "c",
          content: list(n, () => ({
            type: "image",
            source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
          })),
        },
      ],
    },
  ]),
  thinking: messages((n) => [
    { role: "assistant", content: [...list(n, () => ({ type: "thinking", thinking: "t", signature: "s" })), use("c")] },
    { role: "user", content: [result("c")] },
  ]),
  instructions: messages(
    () => [],
    (n) => ({ system: list(n, () => ({ type: "text", text: "a" })) }),
  ),
  tools: messages(
    () => [],
    (n) => ({ tools: list(n, (i) => ({ name: `f${i}`, input_schema: { type: "object" } })) }),
  ),
  "tools with long names": messages(
    () => [],
    (n) => ({ tools: list(n, (i) => ({ name: `${"f".repeat(100)}${i}`, input_schema: { type: "object" } })) }),
  ),
  "properties of a tool": messages(
    () => [],
    (n) => ({ tools: [{ name: "f", input_schema: schema(n) }] }),
  ),
  "nested tools": messages(
    () => [],
    (n) => ({
      tools: list(n / 20, (i) => ({ name: `f${i}`, input_schema: { type: "object", properties: nested(DEPTH) } })),
    }),
  ),
  "stop sequences": messages(
    () => [],
    (n) => ({ stop_sequences: list(n, (i) => `s${i}`) }),
  ),
  "unknown members": messages(
    () => [],
    (n) => merge(n, (i) => ({ [`x${i}`]: i })),
  ),
};

const responses =
  (items: (count: number) => readonly unknown[], more: Body = () => ({})): Body =>
  (count) => ({ model: "m", input: [{ role: "user", content: "a" }, ...items(count)], ...more(count) });
const itemCall = (id: string): object => ({ type: "function_call", call_id: id, name: "f", arguments: "{}" });
const itemResult = (id: string): object => ({ type: "function_call_output", call_id: id, output: "r" });

export const RESPONSES_REQUESTS: Readonly<Record<string, Body>> = {
  turns: responses((n) => list(n, (i) => ({ role: i % 2 ? "user" : "assistant", content: "a" }))),
  parts: responses((n) => [{ role: "user", content: list(n, () => ({ type: "input_text", text: "a" })) }]),
  images: responses((n) => [{ role: "user", content: list(n, () => ({ type: "input_image", image_url: IMAGE })) }]),
  "calls before their results": responses((n) => [
    ...list(n, (i) => itemCall(`c${i}`)),
    ...list(n, (i) => itemResult(`c${n - 1 - i}`)),
  ]),
  "calls and results in turn": responses((n) => list(n, (i) => [itemCall(`c${i}`), itemResult(`c${i}`)]).flat()),
  "calls with one id": responses((n) => list(n, () => [itemCall("c"), itemResult("c")]).flat()),
  "results without calls": responses((n) => list(n, (i) => itemResult(`c${i}`))),
  reasoning: responses((n) =>
    list(n, (i) => [
      { type: "reasoning", id: `rs_${i}`, summary: [{ type: "summary_text", text: "s" }], encrypted_content: "e" },
      { role: "assistant", content: [{ type: "output_text", text: "a", annotations: [] }] },
    ]).flat(),
  ),
  tools: responses(
    () => [],
    (n) => ({ tools: list(n, (i) => ({ type: "function", name: `f${i}`, parameters: { type: "object" } })) }),
  ),
  namespaces: responses(
    () => [],
    (n) => ({
      tools: list(n, (i) => ({
        type: "namespace",
        name: `n${i}`,
        description: "d",
        tools: [{ type: "function", name: "f", parameters: { type: "object" } }],
      })),
    }),
  ),
  "properties of a tool": responses(
    () => [],
    (n) => ({ tools: [{ type: "function", name: "f", strict: true, parameters: schema(n) }] }),
  ),
  "unknown items": responses((n) => list(n, () => ({ type: "later" }))),
  "unknown members": responses(
    () => [],
    (n) => merge(n, (i) => ({ [`x${i}`]: i })),
  ),
};
