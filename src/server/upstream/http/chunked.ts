/**
 * Parses the chunked body of an answer, which the connection may split anywhere. Source: RFC 9112, section 7.1. Extensions and
 * trailers are skipped, within limits; line ends must be CR LF.
 */
import { malformed } from "./types.ts";

/** Maximum size of the extensions of one chunk, in bytes. The next constant limits all trailers together. */
const MAX_EXTENSION_BYTES = 4 << 10;
const MAX_TRAILER_BYTES = 64 << 10;
/** Maximum number of digits of a chunk size. Larger sizes would not be exact as numbers. */
const MAX_SIZE_DIGITS = 13;

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const QUOTED = '"(?:[\\t \\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\[\\t\\x20-\\x7e])*"';
const EXTENSIONS = new RegExp(`^(?:;${TOKEN}(?:=(?:${TOKEN}|${QUOTED}))?)+$`);

const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
const TAB = 0x09;
const SPACE = 0x20;
const COLON = 0x3a;

type Stage =
  | "size"
  | "extension"
  | "size-lf"
  | "data"
  | "data-cr"
  | "data-lf"
  | "trailer"
  | "trailer-name"
  | "trailer-value"
  | "trailer-lf"
  | "end-lf"
  | "end";

export class ChunkedParser {
  #stage: Stage = "size";
  #size = 0;
  #digits = 0;
  #extension = "";
  #trailerBytes = 0;

  get isComplete(): boolean {
    return this.#stage === "end";
  }

  /**
   * Continues to read at index `at`. Returns the index where it stopped: after the last available byte, after the body, or after
   * data for which `take` reported no more room. Throws `HttpFault`.
   */
  read(bytes: Buffer, at: number, take: (data: Buffer) => boolean): number {
    let next = at;
    while (next < bytes.length && this.#stage !== "end") {
      if (this.#stage === "data") {
        const end = Math.min(bytes.length, next + this.#size);
        this.#size -= end - next;
        if (this.#size === 0) this.#stage = "data-cr";
        const hasRoom = take(bytes.subarray(next, end));
        next = end;
        if (!hasRoom) return next;
      } else {
        this.#step(bytes[next] as number);
        next += 1;
      }
    }
    return next;
  }

  #step(byte: number): void {
    switch (this.#stage) {
      case "size":
        this.#sizeByte(byte);
        return;
      case "extension":
        this.#extensionByte(byte);
        return;
      case "size-lf":
        this.#expect(byte, LF, this.#size === 0 ? "trailer" : "data");
        this.#digits = 0;
        return;
      case "data-cr":
        this.#expect(byte, CR, "data-lf");
        return;
      case "data-lf":
        this.#expect(byte, LF, "size");
        return;
      default:
        this.#trailerByte(byte);
    }
  }

  #sizeByte(byte: number): void {
    const digit = hexOf(byte);
    if (digit >= 0) {
      this.#digits += 1;
      if (this.#digits > MAX_SIZE_DIGITS) throw malformed("the size of a chunk is too long");
      this.#size = this.#size * 16 + digit;
      return;
    }
    if (this.#digits === 0) throw malformed("a chunk without a size");
    if (byte === CR) this.#stage = "size-lf";
    else if (byte === SEMICOLON) {
      this.#extension = ";";
      this.#stage = "extension";
    } else throw malformed("the size of a chunk is not a hexadecimal number");
  }

  #trailerByte(byte: number): void {
    this.#trailerBytes += 1;
    if (this.#trailerBytes > MAX_TRAILER_BYTES) throw malformed("its trailers are too long");
    switch (this.#stage) {
      case "trailer":
        if (byte === CR) this.#stage = "end-lf";
        else if (isTokenByte(byte)) this.#stage = "trailer-name";
        else throw malformed("the name of a trailer is not valid");
        return;
      case "trailer-name":
        if (byte === COLON) this.#stage = "trailer-value";
        else if (!isTokenByte(byte)) throw malformed("the name of a trailer is not valid");
        return;
      case "trailer-value":
        if (byte === CR) this.#stage = "trailer-lf";
        else if (!isText(byte)) throw malformed("a control character in a trailer");
        return;
      case "trailer-lf":
        this.#expect(byte, LF, "trailer");
        return;
      default:
        this.#expect(byte, LF, "end");
    }
  }

  /** Validates a byte of an extension. Extensions have no effect, but the gateway and the server must agree on where they end. */
  #extensionByte(byte: number): void {
    if (byte === CR) {
      if (!EXTENSIONS.test(this.#extension)) throw malformed("the text after the size of a chunk");
      this.#stage = "size-lf";
      return;
    }
    this.#extension += String.fromCharCode(byte);
    if (this.#extension.length > MAX_EXTENSION_BYTES) throw malformed("the text after the size of a chunk is too long");
  }

  #expect(byte: number, expected: number, next: Stage): void {
    if (byte !== expected) throw malformed("a line of a chunk does not end in CR LF");
    this.#stage = next;
  }
}

function hexOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

const isText = (byte: number): boolean => byte === TAB || (byte >= SPACE && byte !== 0x7f);

const TOKEN_BYTES: ReadonlySet<number> = new Set(
  Buffer.from("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
);
const isTokenByte = (byte: number): boolean => TOKEN_BYTES.has(byte);
