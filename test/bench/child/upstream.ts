/**
 * The upstream of the bench, a process of its own: fixed answers, as fast as node:http gives them.
 *
 * What is asked for is read from the first bytes of the body, which stand in its first piece: `"stream":true` answers
 * 100 events, one a turn of the event loop, so that a proxy reads them as pieces and not as one write, and one more with
 * the usage where that is asked for; the model `bench-large-answer` answers 1 MiB. Everything else answers 0.6 KB of JSON.
 * GET /counts says how many were answered.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listenAndReport } from "./channel.ts";

const CHUNKS_PER_STREAM = 100;
/** What of a body is looked at; model and stream are the first keys of every request of the bench. */
const PEEKED_BYTES = 128;
/** Pieces of at most this are looked through for the question about usage, which a gateway may have put anywhere. */
const SHORT_BYTES = 4_096;

const unaryAnswer = Buffer.from(completion("The quick brown fox jumps over the lazy dog. ".repeat(5)));
const largeAnswer = Buffer.from(completion("x".repeat(1 << 20)));
const chunk = { id: "chatcmpl-bench", object: "chat.completion.chunk", created: 1_700_000_000, model: "bench" };
const streamEvent = eventOf({
  ...chunk,
  choices: [{ index: 0, delta: { content: "word " }, finish_reason: null }],
});
const usageEvent = eventOf({
  ...chunk,
  choices: [],
  usage: { prompt_tokens: 210, completion_tokens: 100, total_tokens: 310 },
});
const streamEnd = Buffer.from("data: [DONE]\n\n");

const counts = { unary: 0, streams: 0, large: 0, aborted: 0, bodyBytes: 0 };

const server = createServer((request, response) => {
  if (request.url === "/counts") {
    response.end(JSON.stringify(counts));
    return;
  }
  let head = "";
  let isUsageAsked = false;
  request.on("data", (piece: Buffer) => {
    if (head === "") head = piece.toString("latin1", 0, PEEKED_BYTES);
    if (piece.length <= SHORT_BYTES) isUsageAsked ||= piece.includes('"include_usage":true');
    counts.bodyBytes += piece.length;
  });
  request.on("end", () => answer(head, isUsageAsked, request, response));
});

listenAndReport(server);

function answer(head: string, isUsageAsked: boolean, request: IncomingMessage, response: ServerResponse): void {
  if (head.includes('"stream":true')) {
    streamChunks(isUsageAsked, request, response);
    return;
  }
  const isLarge = head.includes("bench-large-answer");
  counts[isLarge ? "large" : "unary"] += 1;
  const body = isLarge ? largeAnswer : unaryAnswer;
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}

function streamChunks(isUsageAsked: boolean, request: IncomingMessage, response: ServerResponse): void {
  counts.streams += 1;
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  let left = CHUNKS_PER_STREAM;
  const next = (): void => {
    if (request.socket.destroyed) {
      counts.aborted += 1;
      return;
    }
    left -= 1;
    if (left === 0) {
      if (isUsageAsked) response.write(usageEvent);
      response.end(streamEnd);
      return;
    }
    response.write(streamEvent);
    setImmediate(next);
  };
  next();
}

function eventOf(data: object): Buffer {
  return Buffer.from(`data: ${JSON.stringify(data)}\n\n`);
}

function completion(content: string): string {
  return JSON.stringify({
    id: "chatcmpl-bench",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "bench-model",
    system_fingerprint: "fp_bench",
    choices: [
      { index: 0, message: { role: "assistant", content, refusal: null }, logprobs: null, finish_reason: "stop" },
    ],
    usage: {
      prompt_tokens: 210,
      completion_tokens: 50,
      total_tokens: 260,
      prompt_tokens_details: { cached_tokens: 0 },
    },
  });
}
