/** Provider answers on the wire, and what clients read of them. */
import type { Socket } from "node:net";
import { SseSplitter } from "../../../../src/server/core/dialects/index.ts";
import { endChunks, type Script, startEvents, writeChunk } from "../../support/upstream.ts";

/** Deltas of one choice, in order. */
export interface Delta {
  readonly content?: string;
  readonly reasoning_content?: string;
  readonly arguments?: string;
  readonly index?: number;
}

const chunk = (choice: object) =>
  `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "m", choices: [choice] })}\n\n`;

const deltaOf = ({ arguments: text, index: _, ...delta }: Delta): object =>
  text === undefined ? delta : { tool_calls: [{ index: 0, function: { arguments: text } }] };

/** Frames of a compat stream. */
export function chunks(pieces: readonly Delta[]): readonly string[] {
  const indexes = [...new Set(pieces.map(({ index = 0 }) => index))];
  const isCall = pieces.some((one) => one.arguments !== undefined);
  const first = pieces.findIndex((one) => one.arguments !== undefined);
  const call = { index: 0, id: "t1", type: "function", function: { name: "pay", arguments: "" } };
  const frames = pieces.map((one) => chunk({ index: one.index ?? 0, delta: deltaOf(one), finish_reason: null }));
  if (isCall) frames.splice(first, 0, chunk({ index: 0, delta: { tool_calls: [call] }, finish_reason: null }));
  return [
    ...indexes.map((index) => chunk({ index, delta: { role: "assistant", content: "" }, finish_reason: null })),
    ...frames,
    ...indexes.map((index) => chunk({ index, delta: {}, finish_reason: isCall ? "tool_calls" : "stop" })),
    "data: [DONE]\n\n",
  ];
}

const event = (data: { readonly type: string; readonly [name: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

/** Frames of a messages stream: a block per kind, in order of first appearance. */
export function blocks(pieces: readonly Delta[]): readonly string[] {
  const usage = { input_tokens: 3, output_tokens: 1 };
  const message = { id: "m1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage };
  const frames = [event({ type: "message_start", message })];
  const kinds = ["reasoning_content", "content", "arguments"] as const;
  let index = 0;
  for (const kind of kinds) {
    const own = pieces.filter((one) => one[kind] !== undefined);
    if (own.length === 0) continue;
    const at = index++;
    const put = (type: string, more: object): void => void frames.push(event({ type, index: at, ...more }));
    if (kind === "content") put("content_block_start", { content_block: { type: "text", text: "" } });
    else if (kind === "arguments") {
      put("content_block_start", { content_block: { type: "tool_use", id: "toolu_1", name: "pay", input: {} } });
    } else put("content_block_start", { content_block: { type: "thinking", thinking: "", signature: "" } });
    for (const one of own) {
      const text = one[kind] ?? "";
      if (kind === "content") put("content_block_delta", { delta: { type: "text_delta", text } });
      else if (kind === "arguments")
        put("content_block_delta", { delta: { type: "input_json_delta", partial_json: text } });
      else put("content_block_delta", { delta: { type: "thinking_delta", thinking: text } });
    }
    put("content_block_stop", {});
  }
  const stop_reason = pieces.some((one) => one.arguments !== undefined) ? "tool_use" : "end_turn";
  const delta = { stop_reason, stop_sequence: null };
  frames.push(event({ type: "message_delta", delta, usage }), event({ type: "message_stop" }));
  return frames;
}

/** Writes the pieces one by one, each in a segment of its own. */
export const streaming =
  (pieces: readonly (string | Buffer)[], end: (socket: Socket) => void = endChunks): Script =>
  (socket) => {
    startEvents(socket);
    const next = (at: number): void => {
      const piece = pieces[at];
      if (piece === undefined) {
        end(socket);
        return;
      }
      if (piece.length > 0) writeChunk(socket, piece);
      setImmediate(next, at + 1);
    };
    next(0);
  };

/** Writes `first`, and `rest` on request. `closed` resolves when its connection closes. */
export function pausing(first: readonly string[], rest: readonly string[]) {
  let leave: () => void = () => undefined;
  let write: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const script: Script = (socket) => {
    socket.once("close", leave);
    startEvents(socket);
    writeChunk(socket, first.join(""));
    write = () => void (rest.length > 0 && writeChunk(socket, rest.join("")));
  };
  const go = (): void => {
    write();
    write = () => undefined;
  };
  return { script, go, closed };
}

/** Text that a client assembles, by choice or block. */
interface AssembledText {
  readonly content: string;
  readonly thinking: string;
  readonly arguments: string;
  readonly finish: string;
}

interface Chunk {
  readonly choices?: readonly {
    readonly index: number;
    readonly delta: {
      content?: string;
      reasoning_content?: string;
      tool_calls?: { function: { arguments?: string } }[];
    };
    readonly finish_reason: string | null;
  }[];
  readonly type?: string;
  readonly delta?: { text?: string; thinking?: string; partial_json?: string; stop_reason?: string };
}

export function readStream(stream: string, choice = 0): AssembledText {
  const made = { content: "", thinking: "", arguments: "", finish: "" };
  for (const { data = "" } of new SseSplitter().push(Buffer.from(stream))) {
    if (!data.startsWith("{")) continue;
    const { choices, delta } = JSON.parse(data) as Chunk;
    for (const { index, delta: own, finish_reason } of choices ?? []) {
      if (index !== choice) continue;
      made.content += own.content ?? "";
      made.thinking += own.reasoning_content ?? "";
      for (const call of own.tool_calls ?? []) made.arguments += call.function.arguments ?? "";
      made.finish = finish_reason ?? made.finish;
    }
    made.content += delta?.text ?? "";
    made.thinking += delta?.thinking ?? "";
    made.arguments += delta?.partial_json ?? "";
    made.finish = delta?.stop_reason ?? made.finish;
  }
  return made;
}
