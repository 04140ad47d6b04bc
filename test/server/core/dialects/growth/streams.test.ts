/** Streams with many elements of one kind are handled in time and space in proportion to their length. */
import test from "node:test";
import {
  AnswerProblem,
  type Dialect,
  type FoldedForm,
  foldAnswer,
  type RequestTranslation,
  readJson,
  SseSplitter,
  type TranslationDirection,
  translateRequest,
} from "../../../../../src/server/core/dialects/index.ts";
import { drive, hiding, holding } from "../answer-texts/driver.ts";
import { CHANNEL } from "./channel.ts";
import { assertIsLinear } from "./measure.ts";
import { CHAT_STREAMS, MESSAGES_STREAMS, RESPONSES_STREAMS } from "./stream-kinds.ts";

/** Number of elements in the shorter stream of two. */
const COUNT = 100;
/** Factors of that number for elements whose cost shows only if there are many. */
const FACTORS: ReadonlyMap<string, number> = new Map([
  ["fragments without an index after calls with one", 5],
  ["spaces after arguments", 8],
  ["spaces after an empty object", 8],
  ["unknown members", 2],
  ["choices of one chunk", 3],
  ["images and text in turn", 3],
  ["one long text", 4],
  ["messages", 3],
]);
const STAMP = { created: 1, seed: "seed" };
const REQUESTS: Readonly<Record<string, object>> = {
  chat: { model: "m", messages: [{ role: "user", content: "a" }], stream_options: { include_usage: true } },
  messages: {
    model: "m",
    max_tokens: 9_000,
    messages: [{ role: "user", content: "a" }],
    thinking: { type: "enabled", budget_tokens: 2_000 },
  },
  responses: {
    model: "m",
    input: "a",
    include: ["reasoning.encrypted_content", "message.output_text.logprobs"],
    reasoning: { summary: "auto" },
  },
};

function reading(direction: TranslationDirection, stream: boolean): RequestTranslation["reading"] {
  const [client = ""] = direction.split(">");
  const source = readJson(JSON.stringify({ ...REQUESTS[client], stream }));
  return translateRequest(direction, source, { sent: "m1", requested: "m" }, CHANNEL).reading;
}

/** Runs a translation that may find the answer invalid. Returns the length of the output. */
function lengthOf(write: () => string): number {
  try {
    return write().length;
  } catch (error) {
    if (!(error instanceof AnswerProblem)) throw error;
    return 0;
  }
}

const SHORT_PIECE = 16_384;

/** Translates a stream event by event, in the pieces in which a socket delivers it. */
const translate =
  (direction: TranslationDirection) =>
  (stream: Buffer): number => {
    const splitter = new SseSplitter();
    const translation = reading(direction, true).openStream(STAMP);
    let length = 0;
    lengthOf(() => {
      for (let at = 0; at < stream.length; at += SHORT_PIECE) {
        for (const { event, data } of splitter.push(stream.subarray(at, at + SHORT_PIECE))) {
          length +=
            (data === undefined ? translation?.keepAlive() : translation?.translateEvent(event, data))?.length ?? 0;
        }
      }
      length += translation?.end().length ?? 0;
      return "";
    });
    return length;
  };

const whole =
  (direction: TranslationDirection, asStream: boolean) =>
  (stream: Buffer): number =>
    lengthOf(() => reading(direction, asStream).translateWhole(stream.toString(), STAMP, asStream));

const fold =
  (form: FoldedForm) =>
  (stream: Buffer): number =>
    lengthOf(() => foldAnswer(form, stream.toString()));

const guard =
  (dialect: Dialect, route: string, open: typeof holding) =>
  (stream: Buffer): number =>
    drive(dialect, route, new SseSplitter().push(stream), open).shown.length;

const split =
  (pieceLength: number) =>
  (stream: Buffer): number => {
    const splitter = new SseSplitter();
    let count = 0;
    for (let at = 0; at < stream.length; at += pieceLength)
      count += splitter.push(stream.subarray(at, at + pieceLength)).length;
    return count;
  };

type Run = (stream: Buffer) => number;

const FORMS: readonly (readonly [
  string,
  Readonly<Record<string, (count: number) => string>>,
  Readonly<Record<string, Run>>,
])[] = [
  [
    "chat",
    CHAT_STREAMS,
    {
      "for a messages client": translate("messages>chat"),
      "for a responses client": translate("responses>chat"),
      "that nobody requested, for a messages client": whole("messages>chat", false),
      "that arrived as a whole, for a responses client": whole("responses>chat", true),
      folded: fold("chat"),
      "with texts that are searched": guard("compat", "chat_completions", hiding),
      "split in pieces": split(7),
    },
  ],
  [
    "messages",
    MESSAGES_STREAMS,
    {
      "for a compat client": translate("chat>messages"),
      "for a responses client": translate("responses>messages"),
      "that nobody requested, for a responses client": whole("responses>messages", false),
      "that arrived as a whole, for a compat client": whole("chat>messages", true),
      folded: fold("messages"),
      "with texts that are searched": guard("messages", "messages", hiding),
      "split in pieces": split(7),
    },
  ],
  [
    "responses",
    RESPONSES_STREAMS,
    {
      folded: fold("responses"),
      "with texts that are held back": guard("compat", "responses", holding),
      "with texts that are searched": guard("compat", "responses", hiding),
      "split in pieces": split(7),
    },
  ],
];

for (const [form, streams, runs] of FORMS) {
  for (const [how, run] of Object.entries(runs)) {
    for (const [kind, framesOf] of Object.entries(streams)) {
      test(`a ${form} stream ${how} takes time and space in proportion to its ${kind}`, () => {
        assertIsLinear(COUNT * (FACTORS.get(kind) ?? 1), (count) => Buffer.from(framesOf(count)), run);
      });
    }
  }
}
