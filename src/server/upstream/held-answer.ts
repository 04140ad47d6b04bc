/** Holds the beginning of an answer back until it is known whether it is an error. */
import { isWebPage, JSON_LINES, SseSplitter, WEB_PAGE } from "../core/dialects/index.ts";
import { headerValue } from "./header-value.ts";

/** Maximum number of bytes that are held back. A larger first event or body is not an error message. */
const MAX_HELD_BYTES = 64 << 10;
/** Maximum number of chunks that are held back, because each takes memory in addition to its bytes. */
const MAX_HELD_CHUNKS = 256;

/** Field names of events, enough to distinguish events from other text. */
const FIELDS = ["data:", "event:", "id:", "retry:"];
const PING = /"type"\s*:\s*"ping"/;

/**
 * Form of the body. `unknown`: only white space so far. `body`: JSON. `page`: a web page. `other`: none of these, so it is not
 * checked.
 */
type Form = "unknown" | "events" | "body" | "page" | "other";

/** Number of characters by which a web page is recognized. */
const PAGE_START = 14;

interface HoldOptions {
  /** Whether the whole body is awaited. */
  readonly awaitsBody: boolean;
  /** Whether the gateway looks for an error within the answer. */
  readonly checksForError: boolean;
  /** Whether a decision depends on the first event of a stream. */
  readonly awaitsEvent: boolean;
  /** Whether the answer must be JSON or events. */
  readonly mustHaveContent: boolean;
}

export class HeldAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly string[];
  readonly awaitsBody: boolean;
  readonly checksForError: boolean;
  readonly chunks: Buffer[] = [];
  bytes = 0;
  readonly #awaitsEvent: boolean;
  readonly #mustHaveContent: boolean;
  #form: Form = "unknown";
  #splitter: SseSplitter | undefined;

  constructor(status: number, statusText: string, headers: readonly string[], held: HoldOptions) {
    const { awaitsBody, checksForError, awaitsEvent, mustHaveContent } = held;
    this.status = status;
    this.statusText = statusText;
    this.headers = headers;
    this.awaitsBody = awaitsBody;
    this.checksForError = checksForError;
    this.#awaitsEvent = awaitsEvent;
    this.#mustHaveContent = mustHaveContent;
  }

  /** Adds a chunk. Returns the data of the first event that has content; heartbeat events have none. */
  add(chunk: Buffer): string | undefined {
    this.chunks.push(chunk);
    this.bytes += chunk.length;
    if (this.#form === "unknown") this.#form = this.#formOf();
    if (this.#form !== "events" || this.awaitsBody || !this.#awaitsEvent) return undefined;
    const isFirst = this.#splitter === undefined;
    this.#splitter ??= new SseSplitter();
    return this.#splitter.push(isFirst ? this.body : chunk).find(hasContent)?.data;
  }

  /** Headers with the content type of the actual form: events or JSON. */
  get typedHeaders(): readonly string[] {
    const isNamed = isEventStream(this.headers);
    if (this.#form === "events" && !isNamed) return withContentType(this.headers, "text/event-stream; charset=utf-8");
    return this.#form === "body" && isNamed ? withContentType(this.headers, "application/json") : this.headers;
  }

  /** Returns why the form of the answer cannot be used, such as the sign-in page of a proxy; `undefined` if it may be used. */
  get formProblem(): string | undefined {
    if (this.#form === "page") return WEB_PAGE;
    return this.#mustHaveContent && this.#form === "body" && isJsonLines(this.headers) ? JSON_LINES : undefined;
  }

  /** Returns why a complete answer without an event or a body cannot be used; `undefined` if it may be used. */
  get missingContent(): string | undefined {
    if (!this.#mustHaveContent || !this.#awaitsEvent || this.awaitsBody) return undefined;
    if (this.#form === "unknown") return this.body.toString().trim() === "" ? "the answer is empty" : undefined;
    return this.#form === "events" ? "the stream ended before its answer began" : undefined;
  }

  /** Whether more of the answer is needed. */
  get isWaiting(): boolean {
    if (this.bytes > MAX_HELD_BYTES || this.chunks.length >= MAX_HELD_CHUNKS) return false;
    const isUnchecked = this.#form === "other" || this.#form === "page";
    return this.awaitsBody || (this.#form === "events" ? this.#awaitsEvent : !isUnchecked);
  }

  get body(): Buffer {
    return this.chunks.length === 1 ? (this.chunks[0] as Buffer) : Buffer.concat(this.chunks);
  }

  /** Returns the data of a last event without its final blank line, or `undefined` if there is none. */
  takeLastEvent(): string | undefined {
    const takeLastEvent = this.#splitter?.takeUnfinishedEvent();
    return takeLastEvent !== undefined && hasContent(takeLastEvent) ? takeLastEvent.data : undefined;
  }

  #formOf(): Form {
    const start = this.body
      .toString("utf8", 0, 64)
      .replace(/^\uFEFF/, "")
      .trimStart();
    if (start === "") return "unknown";
    if (start.startsWith("{") || start.startsWith("[")) return "body";
    if (isWebPage(start)) return "page";
    if (start.startsWith("<") && start.length < PAGE_START) return "unknown";
    const isField = start.startsWith(":") || FIELDS.some((name) => isPrefix(name, start));
    return isField || isEventStream(this.headers) ? "events" : "other";
  }
}

const isPrefix = (name: string, start: string): boolean =>
  start.length < name.length ? name.startsWith(start) : start.startsWith(name);

const hasContent = ({ event, data }: { readonly event: string; readonly data: string | undefined }): boolean =>
  data !== undefined && data !== "" && data.trim() !== "[DONE]" && event !== "ping" && !PING.test(data);

const isEventStream = (headers: readonly string[]): boolean =>
  headerValue(headers, "content-type")?.toLowerCase().startsWith("text/event-stream") === true;

const isJsonLines = (headers: readonly string[]): boolean =>
  /^application\/(?:x-)?(?:ndjson|jsonl|jsonlines)\b/i.test(headerValue(headers, "content-type") ?? "");

/** Returns whether the body may be text: false if the content type is clearly another kind, such as audio, images or archives. */
export function mayBeText(headers: readonly string[]): boolean {
  const type = headerValue(headers, "content-type")?.toLowerCase() ?? "";
  return (
    type === "" || type.startsWith("text/") || type.includes("json") || type.startsWith("application/octet-stream")
  );
}

/** Headers that describe the bytes of the body as sent. RFC 9110; RFC 9530; RFC 3230; RFC 1864. */
const BODY_HEADERS: ReadonlySet<string> = new Set([
  ...["content-length", "content-encoding", "content-md5", "content-digest", "repr-digest", "digest", "etag"],
  "accept-ranges",
]);

export const withoutBodyHeaders = (headers: readonly string[]): readonly string[] => without(headers, BODY_HEADERS);

const REPLACED_BODY_HEADERS: ReadonlySet<string> = new Set([...BODY_HEADERS, "content-type", "transfer-encoding"]);

/** Returns the headers of an answer that is an error, whose body has `length` bytes. */
export const errorHeaders = (headers: readonly string[], length: number): readonly string[] => [
  ...without(headers, REPLACED_BODY_HEADERS),
  ...["content-type", "application/json", "content-length", String(length)],
];

const TYPE: ReadonlySet<string> = new Set(["content-type"]);

const withContentType = (headers: readonly string[], type: string): readonly string[] => [
  ...without(headers, TYPE),
  ...["content-type", type],
];

function without(headers: readonly string[], names: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    if (!names.has(name.toLowerCase())) kept.push(name, headers[at + 1] as string);
  }
  return kept;
}
