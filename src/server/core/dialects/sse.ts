/**
 * Splits a byte stream into server-sent events, each with its original bytes (WHATWG HTML, section 9.2.6).
 *
 * Line ends may be LF, CR LF or CR, and a chunk may end anywhere, even inside a character. An event's bytes include the blank
 * line that ends it, so that writing every event's bytes reproduces the stream exactly.
 */
import { objectOf, tryParseJson } from "./json/json-values.ts";

/** Maximum size of an event that is parsed; the bytes of a larger one pass unchanged. Images in one event reach a few MiB. */
export const MAX_EVENT_BYTES = 8 << 20;

/** Pattern of event names that are not inspected as texts. */
export const EVENT_NAME = /^[\w.:-]{0,64}$/;

export interface SseEvent {
  readonly bytes: Buffer;
  /** Value of the `event` field, or empty. */
  readonly event: string;
  /** `data` lines joined with line feeds; `undefined` if the block has none (a comment, for example). */
  readonly data: string | undefined;
  /** Other lines, which clients do not show: comments, ids, lines that are not fields. Empty if there are none. */
  readonly otherLines?: string;
}

/** Returns the event's bytes with other data; every other field stays. */
export function replaceData(event: SseEvent, data: string): Buffer {
  const old = Buffer.from(event.data ?? "");
  const at = data.includes("\n") ? -1 : startOfData(event.bytes);
  if (at >= 0 && event.bytes.compare(old, 0, old.length, at, at + old.length) === 0) {
    return Buffer.concat([event.bytes.subarray(0, at), Buffer.from(data), event.bytes.subarray(at + old.length)]);
  }
  // Data of several lines is written on as many lines as it needs now, which is equivalent.
  const lines = data.split("\n").map((line) => `data: ${line}\n`);
  return Buffer.from(`${event.event === "" ? "" : `event: ${event.event}\n`}${lines.join("")}\n`);
}

/** Returns the offset of the data in the event's bytes, or -1 if it is not contiguous there. */
export function dataStart({ bytes, data = "" }: SseEvent): number {
  const at = data === "" || data.includes("\n") ? -1 : startOfData(bytes);
  const old = Buffer.from(data);
  return at >= 0 && bytes.subarray(at, at + old.length).equals(old) ? at : -1;
}

/** Returns the offset of the value of the first `data` field, or -1. */
function startOfData(bytes: Buffer): number {
  for (let at = bytes.indexOf(DATA); at >= 0; at = bytes.indexOf(DATA, at + 1)) {
    const before = bytes[at - 1];
    const start = at + DATA.length;
    if (at === 0 || before === LF || before === CR) return bytes[start] === SPACE ? start + 1 : start;
  }
  return -1;
}

const DATA = Buffer.from("data:");
const EVENT = Buffer.from("event:");
const FIELD_BYTES = 6;
/** Maximum length of a blank line with the line end before it, in bytes. */
const MAX_BLANK_LINE = 4;
/** Maximum number of lines of an event at which it is checked for an end, since each check reads the whole event so far. */
const MAX_CHECKED_LINES = 64;
const LETTER_D = 0x64;
const LETTER_E = 0x65;
const SPACE = 0x20;
const BLANK_LINE = Buffer.from("\n\n");
const NOTHING = Buffer.alloc(0);
const LF = 0x0a;
const CR = 0x0d;

/**
 * Returns the offset of the next line end before `limit`, or -1. Bytes are compared one by one, since a search for one kind of line
 * end could run far beyond the next one of the other kind.
 */
function lineEndFrom(bytes: Buffer, from: number, limit: number): number {
  for (let at = from; at < limit; at++) if (bytes[at] === LF || bytes[at] === CR) return at;
  return -1;
}

function startsAt(bytes: Buffer, name: Buffer, at: number): boolean {
  return bytes.compare(name, 0, name.length, at, Math.min(bytes.length, at + name.length)) === 0;
}

function isCompleteJson(data: string | undefined): boolean {
  if (data === undefined) return false;
  const text = data.trim();
  if (text === "[DONE]") return true;
  return text.endsWith("}") && text.startsWith("{") && objectOf(tryParseJson(text)) !== undefined;
}

/** Returns the number of events and comments in a text whose lines end with line feeds. */
export function countEvents(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n\n"); at >= 0; at = text.indexOf("\n\n", at + 2)) count++;
  return count;
}

/** Splits a stream into events; `takeRest` returns the bytes after the last complete one. */
export class SseSplitter {
  #pending: Buffer = NOTHING;
  /** Buffer owned by this object, or empty. It begins with `#pending`; the bytes after that were never handed out. */
  #buffer: Buffer = NOTHING;
  /** Offset in `#pending` at which the search for a blank line continues, so that a long event is not searched repeatedly. */
  #blankSearchFrom = 0;
  /** Offset at which the search for the end of an event without a blank line continues. */
  #lineSearchFrom = 0;
  /** Number of lines of the current event at which it was checked for such an end. */
  #checkedLines = 0;

  /** Whether no unfinished event is buffered. Then a chunk that consists of whole events need not be pushed. */
  get isEmpty(): boolean {
    return this.#pending.length === 0;
  }

  /** Number of buffered bytes of an unfinished event. */
  get heldBytes(): number {
    return this.#pending.length;
  }

  push(chunk: Buffer): readonly SseEvent[] {
    const events: SseEvent[] = [];
    this.visitEvents(chunk, (event) => void events.push(event));
    return events;
  }

  /**
   * Calls `onEvent` for each event in order. `handleRaw` may handle an event that begins at an offset of the bytes itself, and returns
   * the offset after it; it returns the same offset to leave the event to `onEvent`.
   */
  visitEvents(
    chunk: Buffer,
    onEvent: (event: SseEvent) => void,
    handleRaw?: (bytes: Buffer, at: number) => number,
  ): void {
    if (this.#pending.length > 0) this.#append(chunk);
    else {
      this.#pending = chunk;
      this.#buffer = NOTHING;
    }
    let start = 0;
    for (;;) {
      const rawEnd = handleRaw?.(this.#pending, start) ?? start;
      const end = rawEnd > start ? rawEnd : this.#endOfEvent(start);
      if (end < 0) break;
      if (rawEnd === start) onEvent(parseEvent(this.#pending.subarray(start, end)));
      start = end;
      this.#blankSearchFrom = Math.max(end, this.#blankSearchFrom);
      this.#lineSearchFrom = Math.max(end, this.#lineSearchFrom);
      this.#checkedLines = 0;
    }
    this.#lineSearchFrom = Math.max(0, this.#lineSearchFrom - start);
    if (start > 0) {
      this.#pending = this.#pending.subarray(start);
      // The bytes before the pending ones were handed out and stay unchanged.
      this.#buffer = this.#buffer.subarray(start);
    }
    this.#blankSearchFrom = Math.max(0, this.#pending.length - 3);
    if (this.#pending.length > MAX_EVENT_BYTES) onEvent({ bytes: this.takeRest(), event: "", data: undefined });
  }

  #endOfEvent(start: number): number {
    const blank = endOfBlock(this.#pending, Math.max(start, this.#blankSearchFrom));
    // If the event ends before the blank line, the search for the next event's end continues there.
    this.#blankSearchFrom = Math.max(start, (blank < 0 ? this.#pending.length : blank) - MAX_BLANK_LINE);
    // Some servers separate their events by a single line end.
    const early = this.#endWithoutBlankLine(start, blank < 0 ? this.#pending.length : blank);
    return early > 0 ? early : blank;
  }

  /**
   * Returns the end of an event that lacks its blank line: `data` that is complete JSON, with another event's field on the next
   * line. No JSON reader could parse the two as one event. Returns -1 if there is none before `limit`.
   */
  #endWithoutBlankLine(from: number, limit: number): number {
    const bytes = this.#pending;
    let at = lineEndFrom(bytes, Math.max(from, this.#lineSearchFrom), limit);
    for (; at >= 0 && at + 1 < limit; at = lineEndFrom(bytes, at + 1, limit)) {
      this.#lineSearchFrom = at;
      const next = bytes[at + 1];
      if (next !== LETTER_D && next !== LETTER_E) continue;
      if (limit - at - 1 < FIELD_BYTES && limit === bytes.length) return -1;
      if (!startsAt(bytes, DATA, at + 1) && !startsAt(bytes, EVENT, at + 1)) continue;
      if (this.#checkedLines >= MAX_CHECKED_LINES) continue;
      this.#checkedLines++;
      this.#lineSearchFrom = at + 1;
      if (isCompleteJson(parseEvent(bytes.subarray(from, at + 1)).data)) return at + 1;
    }
    this.#lineSearchFrom = Math.max(this.#lineSearchFrom, at < 0 ? limit : at);
    return -1;
  }

  /**
   * Returns the last event at the end of the stream, if it ends with a CR that could have been followed by an LF; otherwise
   * `undefined`.
   */
  takeEventEndingInCr(): SseEvent | undefined {
    if (this.#pending.at(-1) !== CR) return undefined;
    const end = endOfBlock(Buffer.concat([this.#pending, BLANK_LINE.subarray(1)]), 0);
    return end > this.#pending.length ? parseEvent(this.takeRest()) : undefined;
  }

  /**
   * Returns everything after the last event as one event at the end of the stream, or `undefined` if there is nothing. Some
   * providers end their last event without a blank line, and clients that read line by line accept it.
   */
  takeUnfinishedEvent(): SseEvent | undefined {
    return this.isEmpty ? undefined : parseEvent(this.takeRest());
  }

  /** Returns whether the stream stopped within an event whose data is a JSON object, so that no client can read it. */
  get isCutWithinJson(): boolean {
    if (this.isEmpty) return false;
    const { data = "" } = parseEvent(this.#pending);
    return data.trimStart().startsWith("{") && !isCompleteJson(data);
  }

  takeRest(): Buffer {
    const rest = this.#pending;
    this.#pending = NOTHING;
    this.#buffer = NOTHING;
    this.#blankSearchFrom = 0;
    this.#lineSearchFrom = 0;
    this.#checkedLines = 0;
    return rest;
  }

  /** Appends a chunk. Each byte of a long event is copied at most a few times, however small its chunks are. */
  #append(chunk: Buffer): void {
    const { length } = this.#pending;
    const whole = length + chunk.length;
    if (whole > this.#buffer.length) {
      this.#buffer = Buffer.allocUnsafeSlow(2 * whole);
      this.#buffer.set(this.#pending);
    }
    this.#buffer.set(chunk, length);
    this.#pending = this.#buffer.subarray(0, whole);
  }
}

/**
 * Returns the offset after the blank line that ends the first block at or after `from`, or -1. A CR at the very end waits for
 * its LF.
 */
function endOfBlock(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] !== LF && bytes[at] !== CR) continue;
    const next = lineEnd(bytes, at);
    if (next === undefined) return -1;
    if (bytes[next] === LF || bytes[next] === CR) return lineEnd(bytes, next) ?? -1;
    at = next - 1;
  }
  return -1;
}

/** Returns the offset after the line end that starts at `at`, or `undefined` if a CR is the last byte and an LF may follow. */
function lineEnd(bytes: Buffer, at: number): number | undefined {
  if (bytes[at] === LF) return at + 1;
  if (at + 1 >= bytes.length) return undefined;
  return bytes[at + 1] === LF ? at + 2 : at + 1;
}

function parseEvent(bytes: Buffer): SseEvent {
  let event = "";
  let data: string | undefined;
  let otherLines = "";
  for (const line of bytes
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(":");
    if (line === "") continue;
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "event") event = value;
    else if (field === "data") data = data === undefined ? value : `${data}\n${value}`;
    else if (field === "error" && data === undefined && objectOf(tryParseJson(value)) !== undefined) {
      // Some model servers write an error as a field of its own, which clients ignore.
      event = "error";
      data = `{"error":${value}}`;
    } else otherLines += otherLines === "" ? line : `\n${line}`;
  }
  return { bytes, event, data, otherLines: otherLines };
}
