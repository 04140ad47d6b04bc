/** Changes the bytes of an answer according to the quirks of a name. */

import type { Answer, Frame } from "../route-types.ts";
import type { AgentQuirk } from "./quirks.ts";

const BYTE_ORDER_MARK = "\uFEFF";
const DEPTH = 5_000;
const BAD_BYTE = Buffer.from([0xff]);
const PIECE_BYTES = 7;

/** Returns the JSON text of a whole message, with its quirks. */
export function deformText(text: string, quirks: ReadonlySet<AgentQuirk>): string {
  if (!quirks.has("deep") || !text.endsWith("}}")) return text;
  return `${text.slice(0, -2)},"nested":${"[".repeat(DEPTH)}${"]".repeat(DEPTH)}}}`;
}

export function deformAnswer(answer: Answer, quirks: ReadonlySet<AgentQuirk>): Answer {
  if (quirks.size === 0) return answer;
  if (answer.kind === "events") return { ...answer, frames: deformAnswerFrames(answer.frames, quirks) };
  if (answer.body.length === 0) return answer;
  let body = String(answer.body);
  if (quirks.has("no-answer")) body = "{}";
  if (quirks.has("malformed")) body = body.slice(0, Math.ceil((2 * body.length) / 3));
  if (quirks.has("bom")) body = BYTE_ORDER_MARK + body;
  const contentType = quirks.has("html") ? "text/html; charset=utf-8" : answer.contentType;
  return { ...answer, contentType, body: withBadByte(body, quirks) };
}

/** Changes the frames of a stream: each is `data: JSON` and a blank line, or a comment. The last frame is the answer. */
async function* deformAnswerFrames(
  frames: Iterable<Frame> | AsyncIterable<Frame>,
  quirks: ReadonlySet<AgentQuirk>,
): AsyncGenerator<Frame> {
  let pending: string | undefined;
  let isFirst = true;
  const deformed = function* (text: string, isLast: boolean): Generator<Frame> {
    if (isLast && quirks.has("no-answer")) return;
    for (let copies = isLast && quirks.has("twice") ? 2 : 1; copies > 0; copies -= 1) {
      const marked: string = isFirst && quirks.has("bom") ? BYTE_ORDER_MARK + text : text;
      isFirst = false;
      yield* piecesOf(withBadByte(linesOf(marked, isLast, quirks), quirks), quirks);
    }
  };
  for await (const frame of frames) {
    if (pending !== undefined) yield* deformed(pending, false);
    pending = String(frame);
    // Frames other than an answer are sent at once, since only an answer can be the last frame.
    if (!/"(?:result|error)":/.test(pending)) {
      yield* deformed(pending, false);
      pending = undefined;
    }
  }
  if (pending !== undefined) yield* deformed(pending, true);
}

function linesOf(frame: string, isLast: boolean, quirks: ReadonlySet<AgentQuirk>): string {
  let text = frame;
  if (isLast && quirks.has("malformed")) text = `${text.slice(0, Math.ceil((2 * text.length) / 3))}\n\n`;
  if (quirks.has("split")) text = text.replace(/,"(result|error|method)":/, '\ndata: ,"$1":');
  if (quirks.has("cr")) return text.replaceAll("\n", "\r");
  return quirks.has("crlf") ? text.replaceAll("\n", "\r\n") : text;
}

function withBadByte(text: string, quirks: ReadonlySet<AgentQuirk>): Frame {
  const at = quirks.has("bad-utf8") ? text.indexOf('"text":"') : -1;
  if (at < 0) return text;
  const textStart = at + '"text":"'.length;
  return Buffer.concat([Buffer.from(text.slice(0, textStart)), BAD_BYTE, Buffer.from(text.slice(textStart))]);
}

function* piecesOf(frame: Frame, quirks: ReadonlySet<AgentQuirk>): Generator<Frame> {
  if (!quirks.has("split")) {
    yield frame;
    return;
  }
  const bytes = Buffer.from(frame);
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}
