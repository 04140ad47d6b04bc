/**
 * Providers scripted byte by byte on translated paths: a compat one called by the messages client, a messages one
 * called by the compat client. Each has one valid answer, whole and as a stream of frames, that tests then break.
 */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { APIConnectionError as AnthropicConnectionError, APIError as AnthropicError } from "@anthropic-ai/sdk";
import { APIConnectionError as OpenaiConnectionError, APIError as OpenaiError } from "openai";
import type { Dialect } from "../../../../src/server/core/dialects/routes/routes.ts";
import { startWithFiles } from "../../support/config.ts";
import type { Gateway } from "../../support/gateway.ts";
import { type Clients, clientsOf } from "../../support/simulated.ts";
import {
  endChunks,
  type Script,
  scriptedUpstream,
  startEvents,
  type Upstream,
  writeChunk,
} from "../../support/upstream.ts";
import type { Owner } from "../../support/wait.ts";
import { tellByAnthropic } from "./anthropic.ts";
import { tellByOpenai } from "./openai.ts";
import type { Form } from "./sdk-answer.ts";

export const TEXT = "Grüße, 世界 🌍!";
const INPUT = { city: "Zürich", depth: { n: 1 } };

interface Sound {
  readonly whole: object;
  /** The data of each event, in order; the compat dialect's last one is not JSON. */
  readonly events: readonly object[];
}

const MESSAGE = { id: "msg_1", type: "message", role: "assistant", model: "m", stop_sequence: null };
const USAGE = { input_tokens: 10, output_tokens: 7, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 };
const CHUNK = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" };
const CHAT_USAGE = { prompt_tokens: 15, completion_tokens: 7, total_tokens: 22 };
const ARGUMENTS = JSON.stringify(INPUT);

const block = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
const delta = (index: number, it: object) => ({ type: "content_block_delta", index, delta: it });
const stop = (index: number) => ({ type: "content_block_stop", index });
const choice = (it: object, finish_reason: string | null = null) => ({
  ...CHUNK,
  choices: [{ index: 0, delta: it, finish_reason }],
});
const call = (it: object) => choice({ tool_calls: [{ index: 0, ...it }] });

export const SOUND: Readonly<Record<Dialect, Sound>> = {
  messages: {
    whole: {
      ...MESSAGE,
      content: [
        { type: "text", text: TEXT },
        { type: "tool_use", id: "toolu_1", name: "look", input: INPUT },
      ],
      stop_reason: "tool_use",
      usage: USAGE,
    },
    events: [
      { type: "message_start", message: { ...MESSAGE, content: [], stop_reason: null, usage: USAGE } },
      block(0, { type: "text", text: "" }),
      delta(0, { type: "text_delta", text: TEXT.slice(0, 7) }),
      { type: "ping" },
      delta(0, { type: "text_delta", text: TEXT.slice(7) }),
      stop(0),
      block(1, { type: "tool_use", id: "toolu_1", name: "look", input: {} }),
      delta(1, { type: "input_json_delta", partial_json: ARGUMENTS.slice(0, 9) }),
      delta(1, { type: "input_json_delta", partial_json: ARGUMENTS.slice(9) }),
      stop(1),
      { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 7 } },
      { type: "message_stop" },
    ],
  },
  compat: {
    whole: {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [
        {
          index: 0,
          finish_reason: "tool_calls",
          message: {
            role: "assistant",
            content: TEXT,
            tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: ARGUMENTS } }],
          },
        },
      ],
      usage: CHAT_USAGE,
    },
    events: [
      choice({ role: "assistant", content: "" }),
      choice({ content: TEXT.slice(0, 7) }),
      choice({ content: TEXT.slice(7) }),
      call({ id: "call_1", type: "function", function: { name: "look", arguments: "" } }),
      call({ function: { arguments: ARGUMENTS.slice(0, 9) } }),
      call({ function: { arguments: ARGUMENTS.slice(9) } }),
      choice({}, "tool_calls"),
      { ...CHUNK, choices: [], usage: CHAT_USAGE },
    ],
  },
};

/** Returns an event in the framing of its provider. */
function framed(dialect: Dialect, event: object): string {
  const name = dialect === "messages" ? `event: ${Object(event)["type"]}\n` : "";
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

export const DONE = "data: [DONE]\n\n";

/** Returns the frames of a whole stream. */
export function framesOf(dialect: Dialect, events: readonly object[]): readonly string[] {
  const frames = events.map((event) => framed(dialect, event));
  return dialect === "compat" ? [...frames, DONE] : frames;
}

export function sends(...frames: readonly (string | Buffer)[]): Script {
  return (socket) => {
    startEvents(socket);
    for (const frame of frames) writeChunk(socket, frame);
    endChunks(socket);
  };
}

/** Sends the head of an answer of this type, chunked. */
export function startAs(socket: Socket, contentType: string, status = 200): void {
  socket.write(`HTTP/1.1 ${status} Whatever\r\nContent-Type: ${contentType}\r\nTransfer-Encoding: chunked\r\n\r\n`);
}

export interface Hostile {
  readonly gateway: Gateway;
  readonly clients: Clients;
  readonly upstreams: Readonly<Record<Dialect, Upstream>>;
}

export async function startHostile(owner: Owner): Promise<Hostile> {
  const [compat, messages] = await Promise.all([scriptedUpstream(owner), scriptedUpstream(owner)]);
  const upstreams = { compat, messages };
  const gateway = await startWithFiles(owner, {
    providers: (["compat", "messages"] as const).map((dialect) => ({
      name: dialect,
      dialect,
      base_url: upstreams[dialect].url,
      models: [`${dialect}-*`],
    })),
  });
  return { gateway, clients: clientsOf(gateway.url), upstreams };
}

export type Read =
  | { readonly kind: "answer"; readonly text: string; readonly calls: readonly unknown[]; readonly finish: string }
  | { readonly kind: "error"; readonly status: unknown; readonly type: unknown; readonly message: string };

export const SOUND_READ = { text: TEXT, calls: [["look", INPUT]] };

interface ScriptedRequest {
  /** Dialect of the provider; the client uses the other. */
  readonly upstream: Dialect;
  readonly form: Form;
  readonly text?: string;
}

/** Returns the answer read by the client's SDK, or an error of its own dialect; any other error is rethrown. */
export async function readBy(
  { clients }: Hostile,
  { upstream, form, text = "Hello." }: ScriptedRequest,
): Promise<Read> {
  const model = `${upstream}-m`;
  const params = { messages: [{ role: "user" as const, content: text }] };
  try {
    const result =
      upstream === "messages"
        ? await tellByOpenai(clients.openai, { form, model, params })
        : await tellByAnthropic(clients.anthropic, { form, model, params });
    return {
      kind: "answer",
      text: result.text,
      calls: result.calls.map(({ name, input }) => [name, input]),
      finish: result.finish,
    };
  } catch (error) {
    const isOpenai = error instanceof OpenaiError && !(error instanceof OpenaiConnectionError);
    const isAnthropic = error instanceof AnthropicError && !(error instanceof AnthropicConnectionError);
    if (upstream === "messages" ? !isOpenai : !isAnthropic) throw error;
    assert.ok(isOpenai || isAnthropic);
    assert.ok(typeof error.type === "string", `an error of the client's dialect: ${error.message}`);
    return { kind: "error", status: error.status, type: error.type, message: error.message };
  }
}
