/**
 * Features that only one dialect can express: they stay within their dialect, and are refused by name if they would
 * have to cross.
 */
import type { MessageParams } from "../anthropic.ts";
import type { Feature } from "../cell.ts";
import type { ChatParams } from "../openai.ts";
import { QUESTION, QUESTION_REQUEST } from "./question.ts";

const { openai: chat, anthropic: message } = QUESTION_REQUEST;

function ofChat(name: string, params: Partial<ChatParams>): Feature {
  return { name, request: { openai: { ...chat, ...params } }, sent: { compat: params } };
}

function ofMessages(name: string, params: Partial<MessageParams>): Feature {
  return { name, request: { anthropic: { ...message, ...params } }, sent: { messages: params } };
}

const result = { type: "text" as const, text: QUESTION };

export const LOST_FEATURES: readonly Feature[] = [
  ofChat("several answers to one request", { n: 2 }),
  ofChat("`seed`", { seed: 7 }),
  ofChat("penalties", { frequency_penalty: 0.5 }),
  ofChat("`logit_bias`", { logit_bias: { "5": 10 } }),
  ofChat("`logprobs`", { logprobs: true }),
  ofChat("a temperature above 1", { temperature: 1.5 }),
  ofChat("JSON of any shape", {
    messages: [{ role: "user", content: "Answer in JSON." }],
    response_format: { type: "json_object" },
  }),
  ofChat("tools that take free text", { tools: [{ type: "custom", custom: { name: "shell" } }] }),
  ofChat("audio in the answer", { modalities: ["text", "audio"], audio: { voice: "alloy", format: "mp3" } }),
  ofChat("audio in the request", {
    messages: [
      { role: "user", content: [result, { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } }] },
    ],
  }),
  ofChat("files of the provider's store", {
    messages: [{ role: "user", content: [result, { type: "file", file: { file_id: "file-1" } }] }],
  }),
  ofChat("an image by a URL without TLS", {
    messages: [
      { role: "user", content: [result, { type: "image_url", image_url: { url: "http://example.com/cat.png" } }] },
    ],
  }),
  ofMessages("tools that the provider runs", { tools: [{ type: "web_fetch_20250910", name: "web_fetch" }] }),
  ofMessages("tools that the provider defines", { tools: [{ type: "bash_20250124", name: "bash" }] }),
  ofMessages("citations", {
    messages: [
      {
        role: "user",
        content: [
          result,
          {
            type: "document",
            source: { type: "text", media_type: "text/plain", data: "Paris." },
            citations: { enabled: true },
          },
        ],
      },
    ],
  }),
  ofMessages("a document by URL", {
    messages: [
      {
        role: "user",
        content: [result, { type: "document", source: { type: "url", url: "https://example.com/one.pdf" } }],
      },
    ],
  }),
  ofMessages("more than four stop sequences", { stop_sequences: ["one", "two", "three", "four", "five"] }),
  ofMessages("the region in which the model runs", { inference_geo: "us" }),
];
