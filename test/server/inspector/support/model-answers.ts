/** Model answers of the matrix: of each size, outcome and form, by the name in a request. */
import { gzipSync } from "node:zlib";
import type { Answer } from "../answering.ts";

export const CARD = "4111 1111 1111 1111";
export const ADDRESS = "ada@example.org";

const TEXTS = { allow: "hello", redact: `card ${CARD} it is`, deny: `write to ${ADDRESS} now` } as const;
export type TextName = keyof typeof TEXTS;

const JSON_TYPE = { "content-type": "application/json" };
export const filled = (name: TextName, bytes: number): string =>
  `${"word ".repeat(Math.ceil(bytes / 5))}${TEXTS[name]}`;

export function whole(text: string): Buffer {
  const choice = { index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" };
  return Buffer.from(
    JSON.stringify({ id: "c-1", object: "chat.completion", created: 1, model: "m", choices: [choice] }),
  );
}

const cut = (body: Buffer, into: number): readonly Buffer[] => {
  const size = Math.ceil(body.length / into);
  return Array.from({ length: into }, (_, at) => body.subarray(at * size, (at + 1) * size));
};

function events(text: string): readonly Buffer[] {
  const size = Math.max(7, Math.ceil(text.length / 60));
  const deltas = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  );
  const chunk = (content: string | undefined): Buffer => {
    const choice = { index: 0, delta: { content }, finish_reason: content === undefined ? "stop" : null };
    const result = { id: "c-1", object: "chat.completion.chunk", created: 1, model: "m", choices: [choice] };
    return Buffer.from(`data: ${JSON.stringify(result)}\n\n`);
  };
  return [...deltas.map(chunk), chunk(undefined), Buffer.from("data: [DONE]\n\n")];
}

/** `sizes` of the texts in bytes. Answers by the name in a request. */
export function answersOf(sizes: readonly number[]): ReadonlyMap<string, Answer> {
  const answers = new Map<string, Answer>([["none", { status: 204, headers: {}, chunks: [] }]]);
  for (const name of Object.keys(TEXTS) as TextName[]) {
    for (const bytes of sizes) {
      const text = filled(name, bytes);
      const body = whole(text);
      const stream = { headers: { "content-type": "text/event-stream" }, chunks: events(text) };
      const trailers = { "x-sum": "1" };
      answers.set(`${name} whole ${bytes}`, { headers: { ...JSON_TYPE, etag: '"1"' }, chunks: [body] });
      answers.set(`${name} chunked ${bytes}`, { headers: JSON_TYPE, chunks: cut(body, 5) });
      answers.set(`${name} trailers ${bytes}`, { headers: JSON_TYPE, chunks: cut(body, 3), trailers });
      answers.set(`${name} events ${bytes}`, stream);
      answers.set(`${name} events-trailers ${bytes}`, { ...stream, trailers });
    }
    const packed = gzipSync(whole(filled(name, 1_000)));
    answers.set(`${name} gzip 1000`, { headers: { ...JSON_TYPE, "content-encoding": "gzip" }, chunks: [packed] });
    answers.set(`${name} error 100`, { status: 400, headers: JSON_TYPE, chunks: [whole(filled(name, 100))] });
  }
  return answers;
}

/** Returns what a client of a stream reads. */
export function readAnswer(body: string): {
  readonly text: string;
  readonly ends: readonly (string | null)[];
  readonly code: unknown;
} {
  const result = body
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => JSON.parse(event.slice(6)));
  const choices = result.flatMap((event) => event.choices ?? []);
  return {
    text: choices.map(({ delta }) => delta.content ?? "").join(""),
    ends: choices.map((choice) => choice.finish_reason).filter((reason) => reason !== null),
    code: result.map((event) => event.gateway?.code ?? event.error?.code).find((code) => code !== undefined),
  };
}
