/** Unusual bytes of JSON and events that only some parsers accept. */
import type { Socket } from "node:net";
import { startEvents, writeChunk } from "../../support/upstream.ts";

export function chunks(socket: Socket, pieces: readonly (string | Buffer)[]): void {
  startEvents(socket);
  for (const piece of pieces) writeChunk(socket, piece);
}

/** Returns the bytes of one event, split inside the three bytes of the character. */
export function cutWithin(event: string, character: string): readonly Buffer[] {
  const bytes = Buffer.from(event);
  const at = bytes.indexOf(character) + 1;
  return [bytes.subarray(0, at), bytes.subarray(at)];
}

const BAD_BYTE = Buffer.from([0xff]);
export const MARK = "\uFEFF";
/** Replaces the bar with a byte that is not valid UTF-8. */
export const withBadByte = (text: string): Buffer => {
  const [before = "", rest = ""] = text.split("|");
  return Buffer.concat([Buffer.from(before), BAD_BYTE, Buffer.from(rest)]);
};
/** Writes the digits of a card as JSON escapes. */
export const escaped = (text: string): string => text.replaceAll("4", "\\u0034");
