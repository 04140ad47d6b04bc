/**
 * A minimal HTTP/1.1 response parser (RFC 9112) for a load generator: it reports the end of a response and its status,
 * and ignores the rest. Framing is content-length or chunked; interim responses and bodies that end with the connection
 * are not expected from the servers measured here and count as faults.
 */

interface ResponseReader {
  /** Parses received bytes. Throws on bytes that are not a response. */
  push(piece: Buffer): void;
}

type State = "head" | "length" | "chunk-size" | "chunk-data" | "trailer";

const NONE: Buffer = Buffer.alloc(0);
/** No server measured here writes longer heads or lines. */
const MAX_HELD_BYTES = 65_536;

export function createResponseReader(
  onEnd: (status: number) => void,
  onHead?: (status: number) => void,
): ResponseReader {
  let state: State = "head";
  let held: Buffer = NONE;
  let status = 0;
  let left = 0;

  const end = (): void => {
    state = "head";
    onEnd(status);
  };

  /** Parses one element at `at` and returns the start of the next, or -1 if more bytes are needed. */
  const step = (bytes: Buffer, at: number): number => {
    if (state === "length" || state === "chunk-data") {
      const taken = Math.min(left, bytes.length - at);
      left -= taken;
      if (left > 0) return at + taken;
      if (state === "length") end();
      else state = "chunk-size";
      return at + taken;
    }
    const mark = state === "head" ? "\r\n\r\n" : "\r\n";
    const found = bytes.indexOf(mark, at, "latin1");
    if (found === -1) return -1;
    const text = bytes.toString("latin1", at, found);
    const next = found + mark.length;
    if (state === "head") {
      const framing = parseHead(text);
      status = framing.status;
      onHead?.(status);
      if (framing.kind === "chunked") state = "chunk-size";
      else if (framing.length === 0) end();
      else {
        state = "length";
        left = framing.length;
      }
    } else if (state === "chunk-size") {
      const size = Number.parseInt(text, 16);
      if (!(size >= 0)) throw new Error("a chunk without a size");
      state = size === 0 ? "trailer" : "chunk-data";
      left = size + 2;
    } else if (text === "") {
      end();
    }
    return next;
  };

  return {
    push(piece) {
      const bytes = held.length === 0 ? piece : Buffer.concat([held, piece]);
      held = NONE;
      let at = 0;
      while (at < bytes.length) {
        const next = step(bytes, at);
        if (next === -1) {
          held = bytes.subarray(at);
          if (held.length > MAX_HELD_BYTES) throw new Error("a response head without an end");
          return;
        }
        at = next;
      }
    },
  };
}

type Framing =
  | { readonly kind: "length"; readonly status: number; readonly length: number }
  | { readonly kind: "chunked"; readonly status: number };

export function parseHead(head: string): Framing {
  if (!head.startsWith("HTTP/1.1 ")) throw new Error("not an HTTP/1.1 response");
  const status = Number(head.slice(9, 12));
  const length = /\r\ncontent-length: *(\d+)/i.exec(head);
  if (length !== null) return { kind: "length", status, length: Number(length[1]) };
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return { kind: "chunked", status };
  throw new Error(`a response without framing (status ${status})`);
}
