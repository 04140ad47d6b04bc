/** Shared by the tests of answers to responses requests: terms, transcripts, events and the assembled response. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { SseSplitter } from "../../../../../src/server/core/dialects/sse.ts";
import type { ClientTool, ResponsesTerms } from "../../../../../src/server/core/dialects/translate/responses-terms.ts";
import { responsesReading } from "../../../../../src/server/core/dialects/translate/to-responses/answer-to-response.ts";
import {
  AnswerProblem,
  type AnswerStamp,
  type ReasoningSeal,
  type SealedBlock,
} from "../../../../../src/server/core/dialects/translate/types.ts";

export type Source = "messages" | "chat";

export const SOURCES: readonly Source[] = ["messages", "chat"];

export const STAMP: AnswerStamp = { created: 1_790_000_000, seed: "01", now: () => 1_790_000_001 };

/** An object is an event or a chunk; a text is the provider's raw bytes. */
export type Sent = object | string;

interface Event {
  readonly type: string;
  readonly sequence_number: number;
  readonly response?: Values;
  readonly item?: Values;
  readonly part?: Values;
  readonly [member: string]: unknown;
}

export interface Values {
  readonly [member: string]: unknown;
}

interface Transcript {
  readonly row: string;
  readonly messages: readonly Sent[];
  readonly chat: readonly Sent[];
  readonly events: readonly Event[];
  /** Events from chat, if different. */
  readonly chatEvents?: readonly Event[];
}

const FILE = new URL("./golden/to-responses-answer/transcripts.json", import.meta.url);
const GOLDEN = JSON.parse(readFileSync(FILE, "utf8")) as {
  readonly response: Values;
  readonly cases: readonly Transcript[];
};

/** The initial response. */
const RESPONSE: Values = GOLDEN.response;

export const TRANSCRIPTS: readonly Transcript[] = GOLDEN.cases.map(({ events, chatEvents, ...rest }) => ({
  ...rest,
  events: events.map(whole),
  ...(chatEvents !== undefined && { chatEvents: chatEvents.map(whole) }),
}));

/** Expands `…R` to the members of `RESPONSE`. */
function whole(event: Event): Event {
  if (event.response === undefined) return event;
  const { "…R": _, ...members } = event.response;
  return { ...event, response: { ...RESPONSE, ...members } };
}

const ANSWERED = new Set(
  "id object created_at status completed_at background error incomplete_details model output previous_response_id service_tier store usage".split(
    " ",
  ),
);

const ECHO: Values = Object.fromEntries(Object.entries(RESPONSE).filter(([name]) => !ANSWERED.has(name)));

/** Placeholder of every seal. */
export const SEALED = "gwr1.k1.SEALED";

interface Sealing extends ReasoningSeal {
  readonly sealed: (readonly SealedBlock[])[];
}

export function sealing(): Sealing {
  const sealed: (readonly SealedBlock[])[] = [];
  return {
    sealed,
    seal(blocks) {
      sealed.push(blocks);
      return SEALED;
    },
    open: () => undefined,
  };
}

/** A seal with readable content. */
export const OPEN_SEAL: ReasoningSeal = {
  seal: (blocks) => JSON.stringify(blocks),
  open: (text) => JSON.parse(text) as SealedBlock[],
};

const TOOLS: ReadonlyMap<string, ClientTool> = new Map([
  ["apply_patch", { name: "apply_patch", namespace: undefined, isCustom: true }],
  ["mcp__fs__read", { name: "read", namespace: "mcp__fs", isCustom: false }],
  ["mcp__fs__edit", { name: "edit", namespace: "mcp__fs", isCustom: true }],
]);

export function termsOf(changed: Partial<ResponsesTerms> = {}): ResponsesTerms {
  return {
    wantsStream: true,
    model: { sent: "m1", requested: "m1" },
    tools: TOOLS,
    showsSummary: true,
    wantsLogprobs: false,
    echo: ECHO,
    takenCallIds: () => new Set(),
    seal: sealing(),
    ...changed,
  };
}

export function bytesOf(given: readonly Sent[]): Buffer {
  return Buffer.from(given.map((sent) => (typeof sent === "string" ? sent : frameOf(sent))).join(""));
}

/** A value other than an event is sent without an event name. */
function frameOf(sent: unknown): string {
  const type = typeof sent === "object" && sent !== null && "type" in sent ? sent.type : undefined;
  const name = typeof type === "string" && /^[\w.]+$/.test(type) ? `event: ${type}\n` : "";
  return `${name}data: ${JSON.stringify(sent)}\n\n`;
}

interface Translated {
  readonly frames: string;
  readonly problem: string | undefined;
  readonly state: string;
  /** For a broken stream: the last frames added by the gateway. */
  readonly failure: string;
}

/** Passes the stream through the splitter and the translation, in the given pieces. */
export function translate(
  from: Source,
  pieces: readonly Buffer[],
  terms: ResponsesTerms,
  stamp: AnswerStamp = STAMP,
): Translated {
  const splitter = new SseSplitter();
  const translation = responsesReading(from, terms).openStream(stamp) ?? assert.fail("a stream was asked for");
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
    const { state, endWithFailure: failure = () => assert.fail() } = translation;
    const failureFrames = failure.call(translation, { code: "upstream_incomplete", message: "It broke off." });
    return { frames, problem: error.message, state, failure: failureFrames };
  }
  return { frames, problem: undefined, state: translation.state, failure: "" };
}

/** Returns the events without comments. */
export function eventsOf(text: string): readonly Event[] {
  if (text === "") return [];
  assert.ok(text.endsWith("\n\n"));
  return text
    .slice(0, -2)
    .split("\n\n")
    .filter((frame) => !frame.startsWith(":"))
    .map((frame) => {
      const [, name, data] = /^event: ([^\n]*)\ndata: ([^\n]*)$/.exec(frame) ?? assert.fail(frame);
      const event = JSON.parse(data ?? "") as Event;
      assert.equal(event.type, name);
      return event;
    });
}

const ENDS = new Set(["response.completed", "response.incomplete", "response.failed"]);

/**
 * Returns the response at the end of the stream, checking grammar and repetitions; `undefined` without an end. Source:
 * responses reference, 7.1.
 */
export function responseOf(text: string): Values | undefined {
  const events = eventsOf(text);
  if (events.length === 0) return undefined;
  assert.deepEqual(
    events.map((event) => event.sequence_number),
    events.map((_, at) => at),
    "numbers have no gaps",
  );
  assert.deepEqual([events[0]?.type, events[1]?.type], ["response.created", "response.in_progress"]);
  const items: Values[] = [];
  let open: Building | undefined;
  for (const [at, event] of events.entries()) {
    if (at < 2) continue;
    const { type } = event;
    if (type === "error") {
      assert.equal(events[at + 1]?.type, "response.failed");
      continue;
    }
    if (ENDS.has(type)) {
      assert.equal(at, events.length - 1, "nothing follows the end");
      const response = event.response ?? assert.fail();
      assert.equal(`response.${response["status"]}`, type);
      for (const name of ["id", "created_at", "model"]) {
        assert.equal(response[name], events[0]?.response?.[name]);
      }
      assert.deepEqual(response["output"], items, "the streamed items are repeated at the end");
      if (type !== "response.failed") {
        assert.equal(open, undefined);
        assert.ok(items.length > 0);
        for (const { status = "completed" } of items.slice(0, -1)) {
          if (type === "response.completed") assert.equal(status, "completed");
        }
      }
      return response;
    }
    const finished = items[Number(event["output_index"])];
    if (type === "response.output_text.annotation.added" && finished !== undefined) {
      items[Number(event["output_index"])] = annotatedLate(finished, event);
      continue;
    }
    assert.equal(event["output_index"], items.length);
    if (type === "response.output_item.added") {
      assert.equal(open, undefined, "items do not interleave");
      open = new Building(event.item ?? assert.fail());
    } else if (type === "response.output_item.done") {
      items.push((open ?? assert.fail()).done(event.item ?? assert.fail()));
      open = undefined;
    } else (open ?? assert.fail(`${type} belongs to no item`)).take(event);
  }
  return undefined;
}

/** Returns the finished item with an annotation that arrived after its end. */
function annotatedLate(item: Values, event: Event): Values {
  assert.equal(event["item_id"], item["id"]);
  return { ...item, content: withLateAnnotation(item["content"] as readonly unknown[], event) };
}

/** Returns the parts with an annotation of a part that has ended. */
function withLateAnnotation(parts: readonly unknown[], event: Event): readonly unknown[] {
  return parts.map((part, index) => {
    if (index !== event["content_index"]) return part;
    const { annotations, ...rest } = part as { readonly annotations: readonly unknown[] };
    assert.equal(event["annotation_index"], annotations.length);
    return { ...rest, annotations: [...annotations, event["annotation"]] };
  });
}

const BODIES = [
  /^$/,
  /^(?:content_part\.added (?:output_text\.delta )*(?:output_text\.annotation\.added )*output_text\.done content_part\.done |content_part\.added (?:refusal\.delta )+refusal\.done content_part\.done )+$/,
  /^reasoning_summary_part\.added (?:reasoning_summary_text\.delta )+reasoning_summary_text\.done reasoning_summary_part\.done $/,
  /^(?:function_call_arguments\.delta )*function_call_arguments\.done $/,
  /^(?:custom_tool_call_input\.delta )*custom_tool_call_input\.done $/,
];

class Building {
  readonly #item: Values;
  #parts: readonly unknown[] = [];
  #types = "";
  #text = "";
  #annotations: unknown[] = [];

  constructor(item: Values) {
    assert.ok(typeof item["id"] === "string" && item["id"] !== "");
    this.#item = item;
  }

  take(event: Event): void {
    const { type } = event;
    if (type.endsWith("annotation.added") && Number(event["content_index"]) < this.#parts.length) {
      this.#parts = withLateAnnotation(this.#parts, event);
      return;
    }
    this.#types += `${type.slice("response.".length)} `;
    assert.equal(event["item_id"], this.#item["id"]);
    const index = event["content_index"] ?? event["summary_index"];
    if (index !== undefined) assert.equal(index, this.#parts.length);
    if (type.endsWith("part.added")) {
      this.#text = "";
      this.#annotations = [];
    } else if (type.endsWith("annotation.added")) {
      assert.equal(event["annotation_index"], this.#annotations.length);
      this.#annotations.push(event["annotation"]);
    } else if (type.endsWith(".delta")) {
      assert.ok(typeof event["delta"] === "string" && event["delta"] !== "", "no delta is empty");
      this.#text += event["delta"];
    } else if (type.endsWith("part.done")) {
      if (event.part?.["type"] === "output_text") assert.deepEqual(event.part["annotations"], this.#annotations);
      this.#parts = [...this.#parts, event.part];
    } else {
      const whole = event["text"] ?? event["refusal"] ?? event["arguments"] ?? event["input"];
      assert.equal(whole, this.#text, "the deltas are the whole");
    }
  }

  done(item: Values): Values {
    assert.ok(
      BODIES.some((body) => body.test(this.#types)),
      this.#types,
    );
    assert.deepEqual([item["id"], item["type"]], [this.#item["id"], this.#item["type"]]);
    if (item["type"] === "message") assert.deepEqual(item["content"], this.#parts);
    else if (item["type"] === "reasoning") assert.deepEqual(item["summary"], this.#parts);
    else if (item["type"] === "image_generation_call") assert.equal(this.#item["result"], null);
    else assert.equal(item["arguments"] ?? item["input"], this.#text);
    return item;
  }
}

/** Summarizes the items of a response and how it ended. */
export function outlineOf(response: Values): readonly string[] {
  const items = (response["output"] as readonly Values[]).map((item) => {
    const { type, status = "", call_id = "", name = "", namespace = "" } = item;
    const sealed = item["encrypted_content"] ?? "";
    const body = item["arguments"] ?? item["input"] ?? item["content"] ?? item["summary"];
    const parts = typeof body === "string" ? body : (body as readonly Values[]).map((part) => part["text"] ?? part);
    return [type, status, call_id, namespace, name, JSON.stringify(parts), sealed].filter((of) => of !== "").join(" ");
  });
  const reason = (response["incomplete_details"] as Values | null)?.["reason"] ?? "";
  return [...items, `${response["status"]} ${reason}`.trim()];
}
