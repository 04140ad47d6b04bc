/**
 * The upstream of the bench, a process of its own: fixed answers, as fast as node:http sends them.
 *
 * The body selects the answer: `"stream":true` gives 100 events, one per turn of the event loop, so that a proxy reads
 * them as pieces and not as one write, and one more with the usage if requested; `/v1/messages` and `/v1/responses` answer in their own formats, the path of the MCP server with a tool
 * call. The model `bench-large-answer` answers 1 MiB. Everything else answers 0.6 KB of JSON. GET /counts returns the
 * number of answers.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listenAndReport } from "./channel.ts";
import { MCP_PATH } from "./requests.ts";

const CHUNKS_PER_STREAM = 100;
/** Length of the examined start of a body; the model is its first key. */
const PEEKED_BYTES = 128;
/** Pieces up to this length are searched for what a gateway may have put anywhere. */
const SHORT_BYTES = 4_096;

const unaryAnswer = Buffer.from(completion("The quick brown fox jumps over the lazy dog. ".repeat(5)));
const largeAnswer = Buffer.from(completion("x".repeat(1 << 20)));
const chunk = { id: "chatcmpl-bench", object: "chat.completion.chunk", created: 1_700_000_000, model: "bench" };
/** Streamed text, one word per event, repeated: prose, since guardrails hold text back by its content. */
const WORDS =
  "The river was high, and all the boats lay still. No one of them knew when it would fall; so they sat. ".split(
    /(?<= )/,
  );
const streamEvents = WORDS.map((content) =>
  eventOf({ ...chunk, choices: [{ index: 0, delta: { content }, finish_reason: null }] }),
);
const usageEvent = eventOf({
  ...chunk,
  choices: [],
  usage: { prompt_tokens: 210, completion_tokens: 100, total_tokens: 310 },
});
const streamEnd = Buffer.from("data: [DONE]\n\n");
const firstEvent = eventOf({
  ...chunk,
  choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }],
});
const lastEvent = eventOf({ ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });

/** The parts of a stream in a dialect. */
interface StreamPieces {
  readonly first: Buffer;
  /** Events in turn. */
  readonly each: readonly Buffer[];
  readonly last: Buffer;
  /** Sent only if requested. */
  readonly usage: Buffer | undefined;
  readonly end: Buffer;
}

const compatStream: StreamPieces = {
  first: firstEvent,
  each: streamEvents,
  last: lastEvent,
  usage: usageEvent,
  end: streamEnd,
};

const message = {
  id: "msg_bench",
  type: "message",
  role: "assistant",
  model: "bench",
  content: [] as object[],
  stop_reason: null as string | null,
  stop_sequence: null,
  usage: { input_tokens: 210, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 },
};
const messagesStream: StreamPieces = {
  first: Buffer.concat([
    namedEventOf({ type: "message_start", message }),
    namedEventOf({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
  ]),
  each: WORDS.map((text) =>
    namedEventOf({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
  ),
  last: Buffer.concat([
    namedEventOf({ type: "content_block_stop", index: 0 }),
    namedEventOf({
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: 100 },
    }),
  ]),
  usage: undefined,
  end: namedEventOf({ type: "message_stop" }),
};
const messageAnswer = Buffer.from(
  JSON.stringify({
    ...message,
    content: [{ type: "text", text: "The quick brown fox jumps over the lazy dog. ".repeat(5) }],
    stop_reason: "end_turn",
    usage: { ...message.usage, output_tokens: 50 },
  }),
);

const response = {
  id: "resp_bench",
  object: "response",
  created_at: 1_700_000_000,
  status: "in_progress",
  model: "bench",
  output: [] as object[],
  usage: null as object | null,
};
const item = { id: "msg_bench", type: "message", status: "in_progress", role: "assistant", content: [] as object[] };
const place = { item_id: item.id, output_index: 0, content_index: 0 };
const outputText = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
const itemOf = (text: string) => ({ ...item, status: "completed", content: [outputText(text)] });
const responseOf = (text: string) => ({
  ...response,
  status: "completed",
  output: [itemOf(text)],
  usage: { input_tokens: 210, output_tokens: 100, total_tokens: 310 },
});
const streamed = Array.from({ length: CHUNKS_PER_STREAM - 2 }, (_, at) => WORDS[(at + 1) % WORDS.length]).join("");
const responsesStream: StreamPieces = {
  first: Buffer.concat([
    namedEventOf({ type: "response.created", response }),
    namedEventOf({ type: "response.in_progress", response }),
    namedEventOf({ type: "response.output_item.added", output_index: 0, item }),
    namedEventOf({ type: "response.content_part.added", ...place, part: outputText("") }),
  ]),
  each: WORDS.map((delta) => namedEventOf({ type: "response.output_text.delta", ...place, delta, logprobs: [] })),
  last: Buffer.concat([
    namedEventOf({ type: "response.output_text.done", ...place, text: streamed, logprobs: [] }),
    namedEventOf({ type: "response.content_part.done", ...place, part: outputText(streamed) }),
    namedEventOf({ type: "response.output_item.done", output_index: 0, item: itemOf(streamed) }),
  ]),
  usage: undefined,
  end: namedEventOf({ type: "response.completed", response: responseOf(streamed) }),
};
const responseAnswer = Buffer.from(
  JSON.stringify(responseOf("The quick brown fox jumps over the lazy dog. ".repeat(5))),
);

const callAnswer = Buffer.from(
  JSON.stringify({
    result: {
      content: [{ type: "text", text: "The quick brown fox jumps over the lazy dog. ".repeat(10) }],
      resultType: "complete",
    },
    jsonrpc: "2.0",
    id: 1,
  }),
);

/** Formats by path; any other is chat completions. */
const FORMS = new Map([
  ["/v1/messages", { stream: messagesStream, whole: messageAnswer }],
  ["/v1/responses", { stream: responsesStream, whole: responseAnswer }],
]);
const CHAT = { stream: compatStream, whole: unaryAnswer };

const counts = { unary: 0, streams: 0, large: 0, aborted: 0, bodyBytes: 0 };

const server = createServer((request, response) => {
  if (request.url === "/counts") {
    response.end(JSON.stringify(counts));
    return;
  }
  let head = "";
  let [isStreamAsked, isUsageAsked] = [false, false];
  request.on("data", (piece: Buffer) => {
    if (head === "") head = piece.toString("latin1", 0, PEEKED_BYTES);
    if (piece.length <= SHORT_BYTES) {
      isStreamAsked ||= piece.includes('"stream":true');
      isUsageAsked ||= piece.includes('"include_usage":true');
    }
    counts.bodyBytes += piece.length;
  });
  request.on("end", () => {
    const pieces = FORMS.get(request.url ?? "") ?? CHAT;
    if (isStreamAsked) streamChunks(pieces.stream, isUsageAsked, request, response);
    else answerWhole(pieces.whole, head, request, response);
  });
});

listenAndReport(server);

function answerWhole(whole: Buffer, head: string, request: IncomingMessage, response: ServerResponse): void {
  const isLarge = head.includes("bench-large-answer");
  counts[isLarge ? "large" : "unary"] += 1;
  const isCall = request.url === MCP_PATH;
  const body = isCall ? callAnswer : isLarge ? largeAnswer : whole;
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}

function streamChunks(
  pieces: StreamPieces,
  isUsageAsked: boolean,
  request: IncomingMessage,
  response: ServerResponse,
): void {
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
      response.write(pieces.last);
      if (isUsageAsked && pieces.usage !== undefined) response.write(pieces.usage);
      response.end(pieces.end);
      return;
    }
    response.write(
      left === CHUNKS_PER_STREAM - 1
        ? pieces.first
        : (pieces.each[(CHUNKS_PER_STREAM - left) % pieces.each.length] ?? pieces.first),
    );
    setImmediate(next);
  };
  next();
}

function eventOf(data: object): Buffer {
  return Buffer.from(`data: ${JSON.stringify(data)}\n\n`);
}

function namedEventOf(data: { readonly type: string; readonly [field: string]: unknown }): Buffer {
  return Buffer.from(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
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
