/** Changes the bytes of an answer according to the quirks of a name. */

import type { Answer, Frame } from "../route.ts";
import type { AgentQuirk } from "./quirks.ts";

const MARK = "\uFEFF";
const DEPTH = 5_000;
const BAD_BYTE = Buffer.from([0xff]);
const PIECE_BYTES = 7;

/** Returns the JSON text of a whole message, with its quirks. */
export function warpText(text: string, quirks: ReadonlySet<AgentQuirk>): string {
  if (!quirks.has("deep") || !text.endsWith("}}")) return text;
  return `${text.slice(0, -2)},"nested":${"[".repeat(DEPTH)}${"]".repeat(DEPTH)}}}`;
}

export function warp(answer: Answer, quirks: ReadonlySet<AgentQuirk>): Answer {
  if (quirks.size === 0) return answer;
  if (answer.kind === "events") return { ...answer, frames: warpFrames(answer.frames, quirks) };
  if (answer.body.length === 0) return answer;
  let body = String(answer.body);
  if (quirks.has("no-answer")) body = "{}";
  if (quirks.has("malformed")) body = body.slice(0, Math.ceil((2 * body.length) / 3));
  if (quirks.has("bom")) body = MARK + body;
  const contentType = quirks.has("html") ? "text/html; charset=utf-8" : answer.contentType;
  return { ...answer, contentType, body: withBadByte(body, quirks) };
}

/** Changes the frames of a stream: each is `data: JSON` and a blank line, or a comment. The last frame is the answer. */
async function* warpFrames(
  frames: Iterable<Frame> | AsyncIterable<Frame>,
  quirks: ReadonlySet<AgentQuirk>,
): AsyncGenerator<Frame> {
  let held: string | undefined;
  let isFirst = true;
  const bent = function* (text: string, isLast: boolean): Generator<Frame> {
    if (isLast && quirks.has("no-answer")) return;
    for (let times = isLast && quirks.has("twice") ? 2 : 1; times > 0; times -= 1) {
      const marked: string = isFirst && quirks.has("bom") ? MARK + text : text;
      isFirst = false;
      yield* piecesOf(withBadByte(linesOf(marked, isLast, quirks), quirks), quirks);
    }
  };
  for await (const frame of frames) {
    if (held !== undefined) yield* bent(held, false);
    held = String(frame);
    // Frames other than an answer are sent at once, since only an answer can be the last frame.
    if (!/"(?:result|error)":/.test(held)) {
      yield* bent(held, false);
      held = undefined;
    }
  }
  if (held !== undefined) yield* bent(held, true);
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
  const cut = at + '"text":"'.length;
  return Buffer.concat([Buffer.from(text.slice(0, cut)), BAD_BYTE, Buffer.from(text.slice(cut))]);
}

function* piecesOf(frame: Frame, quirks: ReadonlySet<AgentQuirk>): Generator<Frame> {
  if (!quirks.has("split")) {
    yield frame;
    return;
  }
  const bytes = Buffer.from(frame);
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}
