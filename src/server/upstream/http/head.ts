/**
 * Parses the head of an HTTP/1.1 answer, and determines how its body ends. Ambiguous input is refused. Source: RFC 9112, sections
 * 2.2, 4, 5 and 6.3.
 */
import { malformed } from "./types.ts";

/** End of the body: after a number of bytes, after the last chunk, or with the connection. */
type Framing = number | "chunked" | "close";

export interface AnswerHead {
  readonly status: number;
  readonly statusText: string;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
  readonly framing: Framing;
  /** Whether the connection can carry another request after this answer. */
  readonly isReusable: boolean;
  /** Idle time in seconds that the server announces. */
  readonly keepAliveSeconds: number | undefined;
}

/** Matches forbidden characters in headers: controls, and line ends other than CR LF. Values may contain tabs. */
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;
/**
 * Matches a status line. Any reason phrase is accepted, because it adds nothing to the status; whether it may be shown is decided
 * elsewhere.
 */
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([^\0\r\n]*))?$/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const DIGITS = /^\d{1,15}$/;
const KEEP_ALIVE_TIMEOUT = /timeout=(\d{1,9})/;

const ORDINARY = 0;
const CONTENT_LENGTH = 1;
const TRANSFER_ENCODING = 2;
const CONNECTION = 3;
const KEEP_ALIVE = 4;

const SPECIAL: ReadonlyMap<string, number> = new Map([
  ["content-length", CONTENT_LENGTH],
  ["transfer-encoding", TRANSFER_ENCODING],
  ["connection", CONNECTION],
  ["keep-alive", KEEP_ALIVE],
]);

/** Maximum number of cached header names. There are few spellings. */
const MAX_SPELLINGS = 1_000;
const spellings = new Map<string, number>();

function kindOf(name: string): number {
  const known = spellings.get(name);
  if (known !== undefined) return known;
  if (!TOKEN.test(name)) throw malformed("the name of a header is not valid");
  const kind = SPECIAL.get(name.toLowerCase()) ?? ORDINARY;
  if (spellings.size < MAX_SPELLINGS) spellings.set(name, kind);
  return kind;
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;

/** Facts from the headers that decide about the body and the connection. */
interface FramingFacts {
  length: number | undefined;
  isChunked: boolean;
  isClosing: boolean;
  isKeeping: boolean;
  keepAliveSeconds: number | undefined;
}

/**
 * Parses a head. `text`: the head without the empty line at its end, one character per byte. `method`: method of the request.
 * Throws `HttpFault`. Informational answers are recognized by their status; they have no body.
 */
export function parseHead(text: string, method: string): AnswerHead {
  let lineEnd = text.indexOf("\r\n");
  if (lineEnd < 0) lineEnd = text.length;
  const line = STATUS_LINE.exec(text.slice(0, lineEnd));
  if (line === null) throw malformed("its first line");
  if (FORBIDDEN.test(text.slice(lineEnd))) throw malformed("a control character, or a line that does not end in CR LF");
  const status = Number(line[2]);
  const headers: string[] = [];
  const facts: FramingFacts = {
    length: undefined,
    isChunked: false,
    isClosing: false,
    isKeeping: false,
    keepAliveSeconds: undefined,
  };
  for (let at = lineEnd + 2; at < text.length; at = lineEnd + 2) {
    lineEnd = text.indexOf("\r\n", at);
    if (lineEnd < 0) lineEnd = text.length;
    const colon = text.indexOf(":", at);
    if (colon < 0 || colon > lineEnd) throw malformed("a header without a colon");
    const name = text.slice(at, colon);
    const kind = kindOf(name);
    let from = colon + 1;
    let to = lineEnd;
    while (from < to && isBlank(text.charCodeAt(from))) from += 1;
    while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
    const value = text.slice(from, to);
    headers.push(name, value);
    if (kind !== ORDINARY) readFramingHeader(facts, kind, value, text.slice(to, lineEnd));
  }
  const { length, isChunked, isClosing, isKeeping, keepAliveSeconds } = facts;
  if (isChunked && length !== undefined) throw malformed("both a content length and a transfer encoding");
  if (status === 204 && (length ?? 0) > 0) throw malformed("a length of a body that there cannot be");
  const isBodiless = method === "HEAD" || status < 200 || status === 204 || status === 304;
  const framing: Framing = isBodiless ? 0 : isChunked ? "chunked" : (length ?? "close");
  const isReusable = framing !== "close" && !isClosing && (line[1] === "1" || isKeeping);
  return { status, statusText: line[3] ?? "", headers, framing, isReusable, keepAliveSeconds };
}

/** Reads one header of a special kind. `blanks`: text between the value and the end of the line. Throws `HttpFault`. */
function readFramingHeader(facts: FramingFacts, kind: number, value: string, blanks: string): void {
  switch (kind) {
    case CONTENT_LENGTH:
      if (facts.length !== undefined) throw malformed("more than one content length");
      // A tab after the value is not part of it (RFC 9110, section 5.5), but some readers include it.
      if (blanks.includes("\t") || !DIGITS.test(value)) throw malformed("a content length that is not a number");
      facts.length = Number(value);
      return;
    case TRANSFER_ENCODING:
      if (facts.isChunked || value.toLowerCase() !== "chunked") {
        throw malformed("a transfer encoding besides `chunked`");
      }
      facts.isChunked = true;
      return;
    case CONNECTION:
      for (const option of value.toLowerCase().split(",")) {
        const word = option.trim();
        facts.isClosing ||= word === "close";
        facts.isKeeping ||= word === "keep-alive";
      }
      return;
    case KEEP_ALIVE: {
      const seconds = KEEP_ALIVE_TIMEOUT.exec(value)?.[1];
      if (seconds !== undefined) facts.keepAliveSeconds = Number(seconds);
    }
  }
}
