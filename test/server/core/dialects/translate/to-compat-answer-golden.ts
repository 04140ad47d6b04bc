/** Shared by the tests of answers for compat clients: terms, golden files, and streams written as a trace. */
import { readFileSync } from "node:fs";
import { SseSplitter } from "../../../../../src/server/core/dialects/sse.ts";
import { openChunkStream } from "../../../../../src/server/core/dialects/translate/to-compat/chunk-stream.ts";
import type {
  AnswerStamp,
  AnswerTerms,
  StreamTranslation,
} from "../../../../../src/server/core/dialects/translate/types.ts";

export const STAMP: AnswerStamp = { created: 1_790_000_000, seed: "s1" };

interface GivenTerms {
  readonly toolNames?: Readonly<Record<string, string>>;
  readonly showsUsage?: boolean;
  readonly callsFunctions?: boolean;
}

interface WholeCase {
  readonly row: string;
  readonly terms?: GivenTerms;
  /** A message, or its text if the spelling matters. */
  readonly given: unknown;
  readonly expect: unknown;
}

interface StreamCase {
  readonly row: string;
  readonly terms?: GivenTerms;
  /** Events as data, or as a block of the stream if the spelling matters. */
  readonly given: readonly unknown[];
  /** A line per frame, in the format of `trace`. */
  readonly expect: readonly string[];
  /** `ended` by default. */
  readonly state?: "open" | "failed";
}

interface BrokenCase<Given> {
  readonly row: string;
  readonly given: Given;
}

export const WHOLE: readonly WholeCase[] = golden("whole");
export const PROBLEMS: readonly BrokenCase<unknown>[] = golden("problems");
export const STREAMS: readonly StreamCase[] = golden("streams");
export const BROKEN_STREAMS: readonly BrokenCase<readonly unknown[]>[] = golden("broken-streams");

function golden<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`golden/to-compat-answer/${name}.json`, import.meta.url), "utf8")) as T;
}

export function termsOf({ toolNames = {}, showsUsage = false, callsFunctions = false }: GivenTerms = {}): AnswerTerms {
  return {
    client: "compat",
    streams: true,
    model: { sent: "model-sent", requested: "model-asked" },
    toolNames: new Map(Object.entries(toolNames)),
    showsUsage,
    callsFunctions,
    showsThinking: false,
    inputEstimate: () => 0,
  };
}

export function bodyOf(input: unknown): string {
  return typeof input === "string" ? input : JSON.stringify(input);
}

/** The provider's stream on the wire. */
export function sseOf(items: readonly unknown[]): string {
  return items.map(blockOf).join("");
}

function blockOf(event: unknown): string {
  if (typeof event === "string") return event;
  const { type } = event as { readonly type: string };
  return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
}

interface Translated {
  readonly frames: string;
  readonly state: StreamTranslation["state"];
}

/** Translates every event of the pieces; `end` is not called. Comments count as pings. */
export function translate(pieces: readonly Buffer[], terms: AnswerTerms): Translated {
  const stream = openChunkStream(terms, STAMP);
  const splitter = new SseSplitter();
  let frames = "";
  for (const piece of pieces) {
    for (const { event, data } of splitter.push(piece)) {
      frames += data === undefined ? stream.keepAlive() : stream.translateEvent(event, data);
    }
  }
  return { frames, state: stream.state };
}

interface Frame {
  readonly error?: unknown;
  readonly usage?: unknown;
  readonly choices?: readonly { readonly delta: unknown; readonly finish_reason: string | null }[];
}

/** Returns `delta JSON`, `finish REASON`, `usage JSON`, `error JSON`, `ping`, `done`. */
export function trace(frames: string): readonly string[] {
  return frames.split("\n\n").slice(0, -1).map(lineOf);
}

function lineOf(frame: string): string {
  if (frame === ": ping") return "ping";
  if (frame === "data: [DONE]") return "done";
  const { error, usage, choices = [] } = JSON.parse(frame.slice("data: ".length)) as Frame;
  if (error !== undefined) return `error ${JSON.stringify(error)}`;
  const [choice] = choices;
  if (choice === undefined) return `usage ${JSON.stringify(usage)}`;
  return choice.finish_reason === null ? `delta ${JSON.stringify(choice.delta)}` : `finish ${choice.finish_reason}`;
}
