import type { Answer, Side } from "./types.ts";

/**
 * Maximum size of one message of a duplex body, in bytes. Some peers have a limit of 64 KiB. Source: ext-proc reference, A.3, 5.
 */
const PIECE_BYTES = 62_000;

/** Splits a body into messages. `endsHere`: no trailers follow, so that an empty body is one empty piece. */
export function* piecesOf(side: Side, body: Buffer, endsHere: boolean): Generator<Answer> {
  if (body.length === 0 && endsHere) yield { kind: "piece", side, bytes: body, isEnd: true };
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    const bytes = body.subarray(at, at + PIECE_BYTES);
    yield { kind: "piece", side, bytes, isEnd: endsHere && at + PIECE_BYTES >= body.length };
  }
}

/** Returns the number of body bytes in an answer. */
export function bytesOf(answer: Answer): number {
  if (answer.kind === "piece") return answer.bytes.length;
  return answer.kind === "chunk" && typeof answer.replacement !== "string" ? answer.replacement.length : 0;
}
