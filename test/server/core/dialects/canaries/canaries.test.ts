/**
 * A canary in every string position of the official SDKs' types, in requests and answers of every route: it is
 * inspected, or the table of uninspected strings gives the reason. Source: design decisions, section 11.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import {
  type Dialect,
  findRoute,
  hasForm,
  messageEvent,
  openSessionTexts,
  openStreamTexts,
  readAnswerTexts,
  readTexts,
  type SseEvent,
  UNINSPECTED,
  type UninspectedRow,
} from "../../../../../src/server/core/dialects/index.ts";
import { type Position, positionsIn } from "./positions.ts";

const openai = (file: string, name: string): string => `import("openai/resources/${file}").${name}`;
const anthropic = (file: string, name: string): string => `import("@anthropic-ai/sdk/resources/${file}").${name}`;
const threads = (file: string, name: string): string => openai(`beta/threads/${file}`, name);

type Row = readonly [method: string, path: string, type: string];

const REQUESTS: readonly Row[] = [
  ["POST", "/v1/chat/completions", openai("chat/completions", "ChatCompletionCreateParamsNonStreaming")],
  ["POST", "/v1/completions", openai("completions", "CompletionCreateParamsNonStreaming")],
  ["POST", "/v1/embeddings", openai("embeddings", "EmbeddingCreateParams")],
  ["POST", "/v1/moderations", openai("moderations", "ModerationCreateParams")],
  ["POST", "/v1/images/generations", openai("images", "ImageGenerateParamsNonStreaming")],
  ["POST", "/v1/audio/speech", openai("audio/speech", "SpeechCreateParams")],
  ["POST", "/v1/responses", openai("responses/responses", "ResponseCreateParamsNonStreaming")],
  ["POST", "/v1/responses/compact", openai("responses/responses", "ResponseCompactParams")],
  ["POST", "/v1/responses/input_tokens", openai("responses/input-tokens", "InputTokenCountParams")],
  ["UPGRADE", "/v1/responses", openai("responses/responses", "ResponsesClientEvent")],
  ["POST", "/v1/conversations", openai("conversations/conversations", "ConversationCreateParams")],
  ["POST", "/v1/conversations/conv_1/items", openai("conversations/items", "ItemCreateParams")],
  ["POST", "/v1/assistants", openai("beta/assistants", "AssistantCreateParams")],
  ["POST", "/v1/assistants/asst_1", openai("beta/assistants", "AssistantUpdateParams")],
  ["POST", "/v1/threads", threads("threads", "ThreadCreateParams")],
  ["POST", "/v1/threads/thread_1", threads("threads", "ThreadUpdateParams")],
  ["POST", "/v1/threads/runs", threads("threads", "ThreadCreateAndRunParamsNonStreaming")],
  ["POST", "/v1/threads/thread_1/messages", threads("messages", "MessageCreateParams")],
  ["POST", "/v1/threads/thread_1/runs", threads("runs/runs", "RunCreateParamsNonStreaming")],
  [
    "POST",
    "/v1/threads/thread_1/runs/run_1/submit_tool_outputs",
    threads("runs/runs", "RunSubmitToolOutputsParamsNonStreaming"),
  ],
  ["POST", "/v1/videos/video_1/remix", openai("videos", "VideoRemixParams")],
  ["POST", "/v1/uploads", openai("uploads/uploads", "UploadCreateParams")],
  ["POST", "/v1/vector_stores", openai("vector-stores/vector-stores", "VectorStoreCreateParams")],
  ["POST", "/v1/vector_stores/vs_1/search", openai("vector-stores/vector-stores", "VectorStoreSearchParams")],
  ["POST", "/v1/containers", openai("containers/containers", "ContainerCreateParams")],
  ["POST", "/v1/evals", openai("evals/evals", "EvalCreateParams")],
  ["UPGRADE", "/v1/realtime", openai("realtime/realtime", "RealtimeClientEvent")],
  ["POST", "/v1/messages", anthropic("messages/messages", "MessageCreateParamsNonStreaming")],
  ["POST", "/v1/messages", anthropic("beta/messages/messages", "MessageCreateParamsNonStreaming")],
  ["POST", "/v1/messages/count_tokens", anthropic("messages/messages", "MessageCountTokensParams")],
  ["POST", "/v1/messages/batches", anthropic("messages/batches", "BatchCreateParams")],
];

const ANSWERS: readonly Row[] = [
  ["POST", "/v1/chat/completions", openai("chat/completions", "ChatCompletion")],
  ["POST", "/v1/completions", openai("completions", "Completion")],
  ["POST", "/v1/moderations", openai("moderations", "ModerationCreateResponse")],
  ["POST", "/v1/images/generations", openai("images", "ImagesResponse")],
  ["POST", "/v1/audio/transcriptions", openai("audio/transcriptions", "TranscriptionCreateResponse")],
  ["POST", "/v1/responses", openai("responses/responses", "Response")],
  ["POST", "/v1/responses/compact", openai("responses/responses", "CompactedResponse")],
  ["GET", "/v1/threads/thread_1/messages", threads("messages", "Message")],
  ["GET", "/v1/threads/thread_1/runs/run_1", threads("runs/runs", "Run")],
  ["GET", "/v1/threads/thread_1/runs/run_1/steps", threads("runs/steps", "RunStep")],
  ["GET", "/v1/conversations/conv_1/items", openai("conversations/items", "ConversationItem")],
  ["POST", "/v1/vector_stores/vs_1/search", openai("vector-stores/vector-stores", "VectorStoreSearchResponse")],
  ["POST", "/v1/messages", anthropic("messages/messages", "Message")],
  ["POST", "/v1/messages", anthropic("beta/messages/messages", "BetaMessage")],
];

const EVENTS: readonly Row[] = [
  ["POST", "/v1/chat/completions", openai("chat/completions", "ChatCompletionChunk")],
  ["POST", "/v1/completions", openai("completions", "Completion")],
  ["POST", "/v1/responses", openai("responses/responses", "ResponseStreamEvent")],
  ["POST", "/v1/threads/runs", `${openai("beta/assistants", "AssistantStreamEvent")}["data"]`],
  ["POST", "/v1/audio/transcriptions", openai("audio/transcriptions", "TranscriptionStreamEvent")],
  ["POST", "/v1/images/generations", openai("images", "ImageGenStreamEvent")],
  ["UPGRADE", "/v1/realtime", openai("realtime/realtime", "RealtimeServerEvent")],
  ["POST", "/v1/messages", anthropic("messages/messages", "RawMessageStreamEvent")],
  ["POST", "/v1/messages", anthropic("beta/messages/messages", "BetaRawMessageStreamEvent")],
];

/** Routes whose strings are sent as form fields. */
const FORMS: readonly Row[] = [
  ["POST", "/v1/images/edits", `Omit<${openai("images", "ImageEditParamsNonStreaming")}, "image" | "mask">`],
  ["POST", "/v1/audio/transcriptions", `Omit<${openai("audio/transcriptions", "TranscriptionCreateParams")}, "file">`],
  ["POST", "/v1/audio/translations", `Omit<${openai("audio/translations", "TranslationCreateParams")}, "file">`],
  ["POST", "/v1/videos", `Omit<${openai("videos", "VideoCreateParams")}, "input_reference">`],
];

const TYPES = positionsIn([...REQUESTS, ...ANSWERS, ...EVENTS, ...FORMS].map(([, , type]) => type));

const TOKEN = "CANARY-4f1c";
const PROSE = "here the CANARY stands";
const ADDRESS = "https://CANARY.example/a.png";
const ANSWERED: ReadonlySet<string> = new Set(["answers", "answered media", "errors", "repeated"]);
const isOfAnswers = ({ place }: UninspectedRow): boolean => ANSWERED.has(place);

/** Whether the canary was found, and whether something was counted as non-text. */
interface Read {
  readonly isInspected: boolean;
  readonly isCounted: boolean;
}

function requestRead(method: string, path: string, value: unknown): Read {
  const route = findRoute(method, path);
  assert.ok(route !== undefined, path);
  const dialect: Dialect = path.startsWith("/v1/messages") ? "messages" : "compat";
  const plain = Buffer.from(JSON.stringify(value));
  const { texts, uninspected, problem } = readTexts(route, dialect, {
    plain,
    contentType: "application/json",
    isJson: true,
  });
  const isInspected = problem !== undefined || texts.some(({ text }) => text.includes("CANARY"));
  return { isInspected, isCounted: uninspected.length > 0 };
}

function formRead(method: string, path: string, value: unknown): Read {
  const route = findRoute(method, path);
  assert.ok(route !== undefined, path);
  const fields = Object.entries(value as Readonly<Record<string, unknown>>).map(
    ([name, text]) =>
      `--X\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${typeof text === "string" ? text : JSON.stringify(text)}\r\n`,
  );
  const plain = Buffer.from(`${fields.join("")}--X--\r\n`);
  const { texts } = readTexts(route, "compat", {
    plain,
    contentType: "multipart/form-data; boundary=X",
    isJson: false,
  });
  return { isInspected: texts.some(({ text }) => text.includes("CANARY")), isCounted: false };
}

function answerRead(method: string, path: string, value: unknown): Read {
  const dialect: Dialect = path.startsWith("/v1/messages") ? "messages" : "compat";
  const name = findRoute(method, path)?.name ?? "";
  const { texts, uninspected } = readAnswerTexts(name, dialect, Buffer.from(JSON.stringify(value)));
  return { isInspected: texts.some(({ text }) => text.includes("CANARY")), isCounted: uninspected.length > 0 };
}

function eventRead(method: string, path: string, value: unknown): Read {
  const dialect: Dialect = path.startsWith("/v1/messages") ? "messages" : "compat";
  const data = JSON.stringify(value);
  const stream =
    method === "UPGRADE" ? openSessionTexts() : openStreamTexts(dialect, findRoute(method, path)?.name ?? "");
  const event: SseEvent =
    method === "UPGRADE"
      ? messageEvent(Buffer.from(data))
      : { bytes: Buffer.from(`data: ${data}\n\n`), event: "", data, otherLines: "" };
  const { pieces, uninspected } = stream.read(event);
  return { isInspected: pieces.some(({ text }) => text.includes("CANARY")), isCounted: uninspected.length > 0 };
}

/** Returns the rows that may be the reason, by member names alone. */
function reasonsFor(position: Position, rows: readonly UninspectedRow[]): readonly UninspectedRow[] {
  const { path } = position;
  const isOf = (name: string): boolean => {
    const wanted = name.split(".");
    return path.some((_, at) => wanted.every((part, i) => path[at + i] === part || path[at + i] === "*"));
  };
  const isLast = (name: string): boolean =>
    path.join(".").endsWith(name) && (path.at(-1) ?? "") === name.split(".").at(-1);
  return rows.filter(({ names, form }) => names.some(form === "any" ? isOf : isLast));
}

for (const { what, rows, read, reasons } of [
  { what: "requests", rows: REQUESTS, read: requestRead, reasons: UNINSPECTED.filter((row) => !isOfAnswers(row)) },
  { what: "forms", rows: FORMS, read: formRead, reasons: UNINSPECTED.filter(({ place }) => place === "forms") },
  { what: "answers", rows: ANSWERS, read: answerRead, reasons: UNINSPECTED.filter(isOfAnswers) },
  { what: "events", rows: EVENTS, read: eventRead, reasons: UNINSPECTED.filter(isOfAnswers) },
]) {
  test(`every string of ${what} is inspected, or the table gives the reason`, () => {
    const unexplained = new Set<string>();
    for (const [method, path, type] of rows) {
      const positions = TYPES.get(type) ?? [];
      assert.ok(positions.length > 0, `${type} has strings`);
      for (const position of positions) {
        for (const canary of [TOKEN, PROSE, ADDRESS]) {
          const { isInspected, isCounted } = read(method, path, position.valueWith(canary));
          if (isInspected) continue;
          const reason = reasonsFor(position, reasons).filter(({ form }) => hasForm(form, canary));
          if (reason.length === 0 || (reason.every(isMedia) && !isCounted))
            unexplained.add(
              `${method} ${path}: ${position.path.join(".")} = ${canary}, as in ${JSON.stringify(position.valueWith("?"))}`,
            );
        }
      }
    }
    assert.deepEqual([...unexplained], []);
  });
}

const PAGE = new URL("../../../../../docs/concepts/inspected-text.md", import.meta.url);
const BEGIN = "<!-- uninspected -->\n";
const END = "<!-- /uninspected -->";
const WRITTEN: Readonly<Record<UninspectedRow["form"], string>> = {
  any: "any",
  key: "one word",
  id: "one word",
  token: "one word",
  label: "a few words of at most 64 characters",
  type: "a media type",
  base64: "base64",
  sealed: "base64, with dots",
  media: "base64",
  address: "an address",
};

function tableOfRows(): string {
  const rows = UNINSPECTED.map(({ place, names, form, reason }) => {
    const shown = [...new Set(names.map((name) => `\`${shortened(name, names)}\``))].join(" ");
    return `| ${place} | ${shown} | ${WRITTEN[form]} | ${reason} |`;
  });
  return ["", "| Where | Members | Value | Why it is no text |", "|---|---|---|---|", ...rows, "", ""].join("\n");
}

/** Returns the setting alone for one of its many members. */
function shortened(name: string, names: readonly string[]): string {
  const [first = name] = name.split(".", 1);
  return names.filter((other) => other.startsWith(`${first}.`)).length > 2 ? first : name;
}

test("the page on guardrails has the table of uninspected strings", () => {
  const page = readFileSync(PAGE, "utf8");
  const from = page.indexOf(BEGIN) + BEGIN.length;
  const to = page.indexOf(END);
  assert.ok(from >= BEGIN.length && to >= from, "the markers are there");
  if (process.env["GATEWAY_REWRITE"] === "1") {
    writeFileSync(PAGE, page.slice(0, from) + tableOfRows() + page.slice(to));
    return;
  }
  assert.equal(page.slice(from, to), tableOfRows());
});

const isMedia = ({ reason }: UninspectedRow): boolean => reason.includes("gateway_guardrail_uninspected_total");
