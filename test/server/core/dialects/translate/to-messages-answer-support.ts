/** Shared by the tests of answers for messages clients: terms, golden files, traces of frames. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { SseSplitter } from "../../../../../src/server/core/dialects/sse.ts";
import { openEventStream } from "../../../../../src/server/core/dialects/translate/to-messages/event-stream.ts";
import {
  AnswerProblem,
  type AnswerStamp,
  type AnswerTerms,
} from "../../../../../src/server/core/dialects/translate/types.ts";

export const STAMP: AnswerStamp = { created: 1_790_000_000, seed: "seed-1" };

const TERMS: AnswerTerms = {
  client: "messages",
  streams: true,
  model: { sent: "model-sent", requested: "model-asked" },
  toolNames: new Map([["short_name", "the_long_name"]]),
  showsUsage: false,
  callsFunctions: false,
  showsThinking: false,
  inputEstimate: () => 0,
};

interface GoldenTerms {
  readonly showsThinking?: boolean;
}

export function termsOf(terms: GoldenTerms | undefined): AnswerTerms {
  return { ...TERMS, ...terms };
}

/** An object is a chunk; a text is the provider's raw bytes. */
type Sent = object | string;

export interface StreamCase {
  readonly row: string;
  readonly terms?: GoldenTerms;
  readonly given: readonly Sent[];
  /** Traces of the frames, and of the problem that ended the stream. */
  readonly expect: readonly string[];
}

export interface WholeCase {
  readonly row: string;
  readonly terms?: GoldenTerms;
  /** A text is the raw body. */
  readonly given: Sent;
  /** The message as text, or the problem. */
  readonly expect: string;
}

const FOLDER = new URL("./golden/to-messages-answer/", import.meta.url);

export function readGolden<Case>(name: string): readonly Case[] {
  return JSON.parse(readFileSync(new URL(name, FOLDER), "utf8")) as readonly Case[];
}

/** GATEWAY_REWRITE=1 rewrites the expectations: review the difference before keeping it. */
export const REWRITES = process.env["GATEWAY_REWRITE"] === "1";

export function writeGolden(name: string, cases: readonly object[]): void {
  writeFileSync(new URL(name, FOLDER), `${JSON.stringify(cases, null, 2)}\n`);
}

export function textOf(sent: Sent): string {
  return typeof sent === "string" ? sent : JSON.stringify(sent);
}

export function bytesOf(items: readonly Sent[]): Buffer {
  return Buffer.from(
    items.map((sent) => (typeof sent === "string" ? sent : `data: ${JSON.stringify(sent)}\n\n`)).join(""),
  );
}

export interface Translated {
  readonly frames: string;
  readonly problem: string | undefined;
  readonly state: string;
}

/** Passes the stream through the splitter and the translation, in the given pieces. */
export function translate(pieces: readonly Buffer[], terms: AnswerTerms): Translated {
  const splitter = new SseSplitter();
  const translation = openEventStream(terms, STAMP);
  let frames = "";
  try {
    for (const piece of pieces) {
      for (const { event, data } of splitter.push(piece)) {
        frames += data === undefined ? translation.keepAlive() : translation.translateEvent(event, data);
      }
    }
    frames += translation.end();
  } catch (error) {
    if (!(error instanceof AnswerProblem)) throw error;
    return { frames, problem: error.message, state: translation.state };
  }
  return { frames, problem: undefined, state: translation.state };
}

export function traceOf({ frames, problem }: Translated): readonly string[] {
  const lines = framesOf(frames).map(lineOf);
  return problem === undefined ? lines : [...lines, `problem: ${problem}`];
}

/** `undefined` stands for a comment. */
export function framesOf(text: string): readonly (Event | undefined)[] {
  if (text === "") return [];
  assert.ok(text.endsWith("\n\n"));
  return text
    .slice(0, -2)
    .split("\n\n")
    .map((frame) => {
      if (frame.startsWith(":")) return undefined;
      const [, name, data] = /^event: ([^\n]*)\ndata: ([^\n]*)$/.exec(frame) ?? assert.fail(frame);
      const event = JSON.parse(data ?? "") as Event;
      assert.equal(event.type, name);
      return event;
    });
}

interface Block {
  readonly type: string;
  readonly [member: string]: unknown;
}

interface Building {
  type: string;
  [member: string]: unknown;
}

export interface Message {
  readonly content: readonly Block[];
  readonly [member: string]: unknown;
}

interface Event {
  readonly type: string;
  readonly index?: number;
  readonly message?: Message;
  readonly content_block?: Block;
  readonly delta?: { readonly type?: string; readonly [member: string]: unknown };
  readonly usage?: object;
  readonly error?: { readonly type: string };
}

function lineOf(event: Event | undefined): string {
  if (event === undefined) return "comment";
  const { type, index, message, content_block: block, delta, usage, error } = event;
  switch (type) {
    case "message_start":
      return `start ${JSON.stringify(message)}`;
    case "content_block_start":
      return `${index} begins ${JSON.stringify(block)}`;
    case "content_block_delta":
      return `${index} ${JSON.stringify(delta)}`;
    case "content_block_stop":
      return `${index} ends`;
    case "message_delta":
      return `delta ${JSON.stringify(delta)} ${JSON.stringify(usage)}`;
    case "error":
      return `error ${JSON.stringify(error)}`;
    default:
      return type;
  }
}

/** Returns the message that a client assembles from the frames, checking the grammar; `undefined` if it did not end. */
export function messageOf(text: string): Message | undefined {
  let message: Message | undefined;
  let content: Building[] = [];
  let open: number | undefined;
  let json = "";
  let hasEnded = false;
  for (const event of framesOf(text)) {
    assert.equal(hasEnded, false, "nothing follows the end");
    if (event === undefined) {
      assert.equal(message, undefined, "comments come before the message only");
      continue;
    }
    if (event.type === "error" || event.type === "ping") continue;
    if (event.type === "message_start") {
      assert.equal(message, undefined);
      message = event.message;
      continue;
    }
    assert.ok(message, "the message starts first");
    if (event.type === "content_block_start") {
      assert.equal(open, undefined, "blocks do not interleave");
      assert.equal(event.index, content.length);
      open = event.index;
      json = "";
      content = [...content, { type: "", ...event.content_block }];
    } else if (event.type === "content_block_delta") {
      assert.equal(event.index, open);
      const { type, ...rest } = event.delta ?? {};
      const block = content.at(-1) ?? assert.fail();
      assert.equal(type, DELTAS.get(`${block["type"]} ${Object.keys(rest).join()}`));
      for (const [name, fragment] of Object.entries(rest)) {
        assert.notEqual(fragment, "", "no delta is empty");
        if (name === "partial_json") json += fragment;
        else block[name] = `${block[name]}${fragment}`;
      }
    } else if (event.type === "content_block_stop") {
      assert.equal(event.index, open);
      open = undefined;
      if (json !== "") (content.at(-1) ?? assert.fail())["input"] = inputOf(json);
    } else if (event.type === "message_delta") {
      assert.equal(open, undefined);
      message = { ...message, ...event.delta, usage: { ...(message["usage"] as object), ...event.usage } };
    } else {
      assert.equal(event.type, "message_stop");
      hasEnded = true;
    }
  }
  return hasEnded && message !== undefined ? { ...message, content } : undefined;
}

const DELTAS: ReadonlyMap<string, string> = new Map([
  ["text text", "text_delta"],
  ["thinking thinking", "thinking_delta"],
  ["thinking signature", "signature_delta"],
  ["tool_use partial_json", "input_json_delta"],
]);

/** Truncated input is read like the official clients do if nothing is readable. */
function inputOf(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}
