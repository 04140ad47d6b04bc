/** Short forms of what providers of both dialects send. */
import type { Sent } from "./to-responses-answer-support.ts";

export const START = { type: "message_start", message: { model: "m1", usage: { input_tokens: 3, output_tokens: 1 } } };
export const STOP = { type: "message_stop" };
export const begin = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
export const piece = (index: number, delta: object) => ({ type: "content_block_delta", index, delta });
export const end = (index: number) => ({ type: "content_block_stop", index });
export const over = (stop_reason: string | null, more: object = {}) => ({
  type: "message_delta",
  delta: { stop_reason, ...more },
  usage: { output_tokens: 9 },
});
export const text = (index: number, ...pieces: readonly string[]): readonly Sent[] => [
  begin(index, { type: "text", text: "" }),
  ...pieces.map((of) => piece(index, { type: "text_delta", text: of })),
  end(index),
];
export const use = (index: number, id: string, name: string, ...pieces: readonly string[]): readonly Sent[] => [
  begin(index, { type: "tool_use", id, name, input: {} }),
  ...pieces.map((of) => piece(index, { type: "input_json_delta", partial_json: of })),
  end(index),
];
export const think = (index: number, thinking: string, signature: string): readonly Sent[] => [
  begin(index, { type: "thinking", thinking: "", signature: "" }),
  ...(thinking === "" ? [] : [piece(index, { type: "thinking_delta", thinking })]),
  ...(signature === "" ? [] : [piece(index, { type: "signature_delta", signature })]),
  end(index),
];

export const say = (delta: object, finish_reason: string | null = null, more: object = {}) => ({
  choices: [{ index: 0, delta, finish_reason, ...more }],
});
export const call = (index: number | undefined, id: string | undefined, name: string | undefined, json: string) => ({
  tool_calls: [{ index, id, function: { name, arguments: json } }],
});
export const DONE = "data: [DONE]\n\n";
