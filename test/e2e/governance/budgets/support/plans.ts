/**
 * Random requests of every kind that a budget meets: dialects, whole and streamed answers, provider faults, and clients
 * that disconnect. The same seed gives the same requests.
 *
 * Each request has its own model name, by which the simulator reports its usage; requests that fail over by an alias
 * cannot have one, and their answers report it.
 */
import type { Random } from "../../../cluster/support/random.ts";
import type { Document } from "../../../support/config.ts";
import { FAILING_FIRST } from "./members.ts";

export type Shape = "chat" | "completions" | "responses" | "messages" | "embeddings";

/** When a client leaves. */
type Leaving = "stays" | "at once" | "when it is heard" | "within the answer";

export interface Plan {
  readonly shape: Shape;
  readonly streams: boolean;
  readonly model: string;
  readonly leaving: Leaving;
  readonly path: string;
  readonly body: Document;
  readonly headers: Readonly<Record<string, string>>;
  /** Upper bound of its tokens: a text has at most as many as bytes. */
  readonly atMost: number;
}

interface PlanOptions {
  /** Only requests whose answers are complete or refused, so their usage is known to the token. */
  readonly isCertain?: boolean;
}

const SHAPES: readonly Shape[] = ["chat", "completions", "responses", "messages", "embeddings"];

/** Models that answer, some after a failure or two. */
const SOUND = [
  "sim-1",
  "sim-long-3",
  "sim-long-40",
  "sim-long-300",
  "sim-gzip",
  "sim-no-text",
  "sim-flaky-1",
  "sim-flaky-2",
];
const FAILING = ["sim-429", "sim-500", "sim-drop-before-headers"];
const BREAKING = [
  "sim-drop-mid-stream",
  "sim-drop-mid-body",
  "sim-error-mid-stream",
  "sim-error-first-event",
  "sim-empty",
];
const ALIASES = Object.keys(FAILING_FIRST);
/** Models whose answers take long enough for a client to disconnect during them. */
const LASTING = ["sim-slow-stream-30ms", "sim-slow-200ms", "sim-long-2000"];

const MAX_OUTPUT_TOKENS = 2_000;

/** `tag` identifies the request at the simulator. */
export function planOf(random: Random, tag: string, { isCertain = false }: PlanOptions = {}): Plan {
  const shape = random.pick(SHAPES);
  const streams = shape !== "embeddings" && random.below(2) === 0;
  const leaving: Leaving =
    isCertain || random.below(4) > 0 ? "stays" : random.pick(["at once", "when it is heard", "within the answer"]);
  const model = leaving === "stays" ? modelOf(random, tag, isCertain) : `${random.pick(LASTING)}:${tag}`;
  return makePlan({ shape, streams, model, leaving, random });
}

function modelOf(random: Random, tag: string, isCertain: boolean): string {
  const dice = random.below(10);
  if (dice === 0) return random.pick(ALIASES);
  if (dice === 1) return `${random.pick(FAILING)}:${tag}`;
  if (dice < 4 && !isCertain) return `${random.pick(BREAKING)}:${tag}`;
  return `${random.pick(SOUND)}:${tag}`;
}

interface Choice {
  readonly shape: Shape;
  readonly streams: boolean;
  readonly model: string;
  readonly leaving?: Leaving;
  /** Maximum tokens of an answer. */
  readonly output?: number;
  readonly random: Random;
}

export function makePlan({
  shape,
  streams,
  model,
  leaving = "stays",
  output = MAX_OUTPUT_TOKENS,
  random,
}: Choice): Plan {
  const text = Array.from({ length: 1 + random.below(30) }, (_, at) => `word${at}`).join(" ");
  const answers = (shape === "chat" || shape === "completions") && random.below(4) === 0 ? 2 : 1;
  const body = {
    model,
    ...(streams && { stream: true }),
    ...(answers > 1 && { n: answers }),
    // For half of the streams only the gateway requests usage; with an alias only the answer reports it.
    ...(asksUsage(shape, streams) && (model in FAILING_FIRST || random.below(2) === 0) && USAGE),
    ...bodyOf(shape, { text, output, isRich: random.below(3) === 0 }),
  };
  return {
    shape,
    streams,
    model,
    leaving,
    path: PATHS[shape],
    body,
    headers: shape === "messages" ? { "anthropic-version": "2023-06-01" } : {},
    atMost: Buffer.byteLength(JSON.stringify(body)) + (shape === "embeddings" ? 0 : output * answers),
  };
}

const PATHS: Readonly<Record<Shape, string>> = {
  chat: "/v1/chat/completions",
  completions: "/v1/completions",
  responses: "/v1/responses",
  messages: "/v1/messages",
  embeddings: "/v1/embeddings",
};

const USAGE = { stream_options: { include_usage: true } };

const asksUsage = (shape: Shape, streams: boolean): boolean => streams && (shape === "chat" || shape === "completions");

/** `isRich` adds thinking or a cacheable part. */
function bodyOf(shape: Shape, { text, output, isRich }: { text: string; output: number; isRich: boolean }): Document {
  const messages = [{ role: "user", content: text }];
  switch (shape) {
    case "chat":
      return { max_tokens: output, messages, ...(isRich && { reasoning_effort: "low" }) };
    case "completions":
      return { max_tokens: output, prompt: text };
    case "responses":
      return { max_output_tokens: output, input: text };
    case "messages":
      return {
        max_tokens: output,
        messages: isRich
          ? [{ role: "user", content: [{ type: "text", text: text, cache_control: { type: "ephemeral" } }] }]
          : messages,
      };
    case "embeddings":
      return { input: text, dimensions: 4 };
  }
}
