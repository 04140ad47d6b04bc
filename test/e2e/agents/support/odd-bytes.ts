/** Bytes of JSON and events that only some readers expect. */
import type { Socket } from "node:net";
import { startEvents, writeChunk } from "../../support/upstream.ts";

export function chunks(socket: Socket, pieces: readonly (string | Buffer)[]): void {
  startEvents(socket);
  for (const piece of pieces) writeChunk(socket, piece);
}

/** The bytes of one event, cut in two within the three bytes of the character. */
export function cutWithin(event: string, character: string): readonly Buffer[] {
  const bytes = Buffer.from(event);
  const at = bytes.indexOf(character) + 1;
  return [bytes.subarray(0, at), bytes.subarray(at)];
}

const BAD_BYTE = Buffer.from([0xff]);
export const MARK = "\uFEFF";
/** A byte that is no UTF-8 in the place of the bar. */
export const withBadByte = (text: string): Buffer => {
  const [before = "", rest = ""] = text.split("|");
  return Buffer.concat([Buffer.from(before), BAD_BYTE, Buffer.from(rest)]);
};
/** Digits of a card as escapes of JSON. */
export const escaped = (text: string): string => text.replaceAll("4", "\\u0034");
