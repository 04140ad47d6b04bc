/** Unrequested streams, and the whole answers that they contain. */
import { chat } from "../../governance/support/governed.ts";
import { GOOD, MESSAGES } from "./scripted-providers.ts";

export const chunkOf = (index: number, delta: object, finish_reason: string | null = null) => ({
  ...{ id: "c", object: "chat.completion.chunk", created: 1, model: "oc-1" },
  choices: [{ index, delta, logprobs: null, finish_reason }],
});
const CALL = { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: '{"n":' } };
const SIGNED = { extra_content: { google: { thought_signature: "s" } } };
export const started = { id: "m", type: "message", role: "assistant", model: "am-1", content: [], stop_reason: null };
const block = (index: number, start: object, ...deltas: readonly object[]): readonly object[] => [
  { type: "content_block_start", index, content_block: start },
  ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index },
];
const RESPONSE = {
  id: "r",
  object: "response",
  model: "oc-1",
  status: "completed",
  output: [{ type: "message", id: "i" }],
};
/** Events of the stream, its usage, and the whole answer, by route. */
export const UNREQUESTED_STREAMS: readonly (readonly [
  path: string,
  body: Readonly<Record<string, unknown>>,
  events: readonly unknown[],
  units: number,
  whole: object,
])[] = [
  [
    "/v1/chat/completions",
    chat({ model: "oc-1" }),
    [
      chunkOf(0, { role: "assistant", content: "", reasoning_content: "h" }),
      chunkOf(0, { reasoning_content: "m", reasoning_text: "a" }),
      chunkOf(0, { content: "fi", reasoning_text: "b" }),
      chunkOf(1, { content: "other" }, "stop"),
      chunkOf(0, { content: "ne", tool_calls: [{ ...CALL, ...SIGNED }] }),
      chunkOf(0, { tool_calls: [{ index: 0, function: { arguments: "12345678901234567890}" } }] }, "tool_calls"),
      { ...chunkOf(0, {}), choices: [], usage: GOOD.usage },
      "[DONE]",
    ],
    15,
    {
      ...{ id: "c", object: "chat.completion", created: 1, model: "oc-1", usage: GOOD.usage },
      choices: [
        {
          ...{ logprobs: null, index: 0, finish_reason: "tool_calls" },
          message: {
            ...{ role: "assistant", content: "fine", reasoning_content: "hm", reasoning_text: "ab" },
            tool_calls: [
              {
                ...{ ...SIGNED, id: "call_1", type: "function" },
                function: { name: "f", arguments: '{"n":12345678901234567890}' },
              },
            ],
          },
        },
        { logprobs: null, index: 1, finish_reason: "stop", message: { role: "assistant", content: "other" } },
      ],
    },
  ],
  [
    "/v1/completions",
    { model: "oc-1", prompt: "x" },
    [
      { id: "t", object: "text_completion", choices: [{ index: 0, text: "fi", finish_reason: null }] },
      {
        id: "t",
        object: "text_completion",
        choices: [{ index: 0, text: "ne", finish_reason: "stop" }],
        usage: GOOD.usage,
      },
      "[DONE]",
    ],
    15,
    {
      ...{ id: "t", object: "text_completion", usage: GOOD.usage },
      choices: [{ index: 0, finish_reason: "stop", text: "fine" }],
    },
  ],
  [
    MESSAGES,
    chat({ model: "am-1", max_tokens: 9 }),
    [
      { type: "message_start", message: { ...started, usage: { input_tokens: 3, output_tokens: 1 } } },
      ...block(
        0,
        { type: "thinking", thinking: "" },
        { type: "thinking_delta", thinking: "hm" },
        { type: "signature_delta", signature: "s" },
      ),
      { type: "ping" },
      ...block(
        1,
        { type: "text", text: "" },
        { type: "text_delta", text: "fi" },
        { type: "text_delta", text: "ne" },
        { type: "citations_delta", citation: { cited_text: "c" } },
      ),
      ...block(
        2,
        { type: "tool_use", id: "t", name: "f", input: {} },
        { type: "input_json_delta", partial_json: '{"a"' },
        { type: "input_json_delta", partial_json: ":1}" },
      ),
      ...block(3, { type: "tool_use", id: "u", name: "g", input: {} }),
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 4 } },
      { type: "message_stop" },
    ],
    7,
    {
      ...{ ...started, stop_reason: "tool_use", usage: { input_tokens: 3, output_tokens: 4 } },
      content: [
        { type: "thinking", thinking: "hm", signature: "s" },
        { type: "text", text: "fine", citations: [{ cited_text: "c" }] },
        { type: "tool_use", id: "t", name: "f", input: { a: 1 } },
        { type: "tool_use", id: "u", name: "g", input: {} },
      ],
    },
  ],
  [
    "/v1/responses",
    { model: "oc-1", input: "x" },
    [
      { type: "response.created", response: { ...RESPONSE, status: "in_progress", output: [] } },
      { type: "response.output_item.done", output_index: 0, item: { type: "message", id: "i" } },
      {
        type: "response.completed",
        response: { ...RESPONSE, output: [], usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } },
      },
    ],
    7,
    { ...RESPONSE, usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } },
  ],
];
