/**
 * Template of events that differ from the previous one in a single text. Such an event is recognized by its bytes before and
 * after the text and needs no parser. Every other event is parsed in full, and so is an event in which anything else depends on
 * the text.
 */
import { dataStart, EVENT_NAME, type SseEvent } from "../sse.ts";
import { isAlwaysText, isPadding } from "./answer-strings.ts";
import type { JsonNode } from "./positioned-json.ts";
import type { TextRecord } from "./text-record.ts";

export interface EventTemplate {
  readonly path: string;
  readonly record: TextRecord;
  /** Bytes up to and including the opening quotation mark of the text. `suffix` has those from the closing mark on. */
  readonly prefix: Buffer;
  readonly suffix: Buffer;
  /**
   * Bytes from the closing quotation mark of the event's padding to the end of the event; `undefined` if it has no padding.
   * The suffix then ends with the padding's opening mark.
   */
  readonly tail: Buffer | undefined;
  /** Whether the event carries anything for the client besides its text. */
  readonly carriesMore: boolean;
}

export interface SimilarEvent {
  readonly template: EventTemplate;
  readonly bytes: Buffer;
  readonly text: string;
  /** Offset in `bytes` after the closing quotation mark of the text. */
  readonly textEnd: number;
}

/** Matches paths of texts that continue in later events and are read in the same way whatever they contain. */
const CONTINUED_TEXT_PATH =
  /^(?:choices\.\d+\.(?:text|delta\.(?:content|reasoning_content|reasoning|refusal))|content\.\d+\.(?:text|thinking))$/;

const BLANK_LINE = Buffer.from("\n\n");
const BLANK_CRLF_LINE = Buffer.from("\n\r\n");
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Parts of an event that vary between similar events. */
interface Varying {
  readonly text: JsonNode;
  /** Position of the outermost object's `obfuscation`, if it is a string. */
  readonly padding: JsonNode | undefined;
}

/** Returns the template of an event, or `undefined` if events like this one have to be parsed. */
export function templateOf(
  event: SseEvent,
  { text: { start, end }, padding }: Varying,
  { path, record, carriesMore }: Pick<EventTemplate, "path" | "record" | "carriesMore">,
): EventTemplate | undefined {
  const { bytes, data = "", otherLines: aside = "" } = event;
  if (!EVENT_NAME.test(event.event)) return undefined;
  if (!CONTINUED_TEXT_PATH.test(path) || !isAlwaysText(path.slice(path.lastIndexOf(".") + 1)) || aside !== "")
    return undefined;
  const at = dataStart(event);
  // Only an event that ends with a blank line of LF or CR LF is a template: an LF may still follow a CR, and a blank line
  // may still follow one line end.
  if (at < 0 || !(endsWith(bytes, BLANK_LINE) || endsWith(bytes, BLANK_CRLF_LINE))) return undefined;
  const byteOffset = (index: number): number => at + Buffer.byteLength(data.slice(0, index));
  const from = byteOffset(start) + 1;
  const to = byteOffset(end) - 1;
  if (bytes[from - 1] !== QUOTE || bytes[to] !== QUOTE) return undefined;
  const common = { path, record, carriesMore, prefix: Buffer.from(bytes.subarray(0, from)) };
  if (padding === undefined || padding.start < end) {
    return { ...common, suffix: Buffer.from(bytes.subarray(to)), tail: undefined };
  }
  const [opens, closes] = [byteOffset(padding.start), byteOffset(padding.end) - 1];
  const suffix = Buffer.from(bytes.subarray(to, opens + 1));
  return { ...common, suffix, tail: Buffer.from(bytes.subarray(closes)) };
}

/** Returns the event that begins at `at` if it matches the template. Its text is not empty. */
export function similarEvent(template: EventTemplate, bytes: Buffer, at: number): SimilarEvent | undefined {
  const { prefix, suffix, tail } = template;
  const from = at + prefix.length;
  if (bytes.length < from + suffix.length || !matchesAt(bytes, at, prefix)) return undefined;
  const to = closingQuote(bytes, from);
  if (to <= from || !matchesAt(bytes, to, suffix)) return undefined;
  const text = decodeText(bytes, from, to);
  if (text === undefined || text === "" || text.startsWith("data:")) return undefined;
  const end = tail === undefined ? to + suffix.length : endAfterPadding(bytes, to + suffix.length, tail);
  return end < 0 ? undefined : { template, bytes: bytes.subarray(at, end), text, textEnd: to + 1 - at };
}

/** Returns the event with another text, or `undefined` if nothing is left to send. */
export function replaceText(
  { template, bytes, text, textEnd: behind }: SimilarEvent,
  shown: string,
): Buffer | undefined {
  if (shown === text) return bytes;
  const { prefix, carriesMore } = template;
  if (shown === "" && !carriesMore) return undefined;
  return Buffer.concat([prefix.subarray(0, -1), Buffer.from(JSON.stringify(shown)), bytes.subarray(behind)]);
}

/** Returns the offset after the event whose padding begins at `from`, or -1. */
function endAfterPadding(bytes: Buffer, from: number, tail: Buffer): number {
  const to = bytes.indexOf(QUOTE, from);
  return to >= 0 && matchesAt(bytes, to, tail) && isPadding(bytes.toString("latin1", from, to)) ? to + tail.length : -1;
}

function matchesAt(bytes: Buffer, at: number, other: Buffer): boolean {
  return at + other.length <= bytes.length && bytes.compare(other, 0, other.length, at, at + other.length) === 0;
}

const endsWith = (bytes: Buffer, end: Buffer): boolean =>
  bytes.length > end.length && matchesAt(bytes, bytes.length - end.length, end);

/** Returns the offset of the first quotation mark that is not escaped, or -1. */
function closingQuote(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(QUOTE, from); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    let escapes = 0;
    while (at - escapes > from && bytes[at - escapes - 1] === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return -1;
}

/**
 * Text that the fast path does not accept: JSON does not allow raw control characters, and a rewrite of the event would replace
 * invalid UTF-8.
 */
const UNUSUAL = /[\u0000-\u001f\ufffd]/;

function decodeText(bytes: Buffer, from: number, to: number): string | undefined {
  const written = bytes.toString("utf8", from, to);
  if (UNUSUAL.test(written)) return undefined;
  if (!written.includes("\\")) return written;
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    return undefined;
  }
}
