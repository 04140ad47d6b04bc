/**
 * Passes a response that is not inspected but that the filter sends anyway. Each message is answered so that it is passed on
 * unchanged. Source: ext-proc reference, A.1, A.3.
 */
import { piecesOf } from "./body-pieces.ts";
import type { Answer, Arrival, PeerMode } from "./types.ts";

type Phase = "first" | "open" | "ended";

/**
 * Returns a function that answers each message, or returns `undefined` for one that is out of order. `mode`: mode of the filter,
 * if it reported one.
 */
export function passResponse(mode: PeerMode | undefined): (arrival: Arrival) => readonly Answer[] | undefined {
  const side = "response";
  let phase: Phase = "first";
  return (arrival) => {
    switch (arrival.kind) {
      case "headers":
        // An informational response (1xx) may precede the final one.
        if (phase === "ended") return undefined;
        phase = arrival.isEnd ? "ended" : "open";
        return [{ kind: "headers", side, dropsLength: false, asksBody: false }];
      case "body":
        // A filter may omit the headers.
        if (phase === "ended") return [];
        phase = arrival.isEnd ? "ended" : "open";
        return mode === "duplex"
          ? [...piecesOf(side, arrival.bytes, arrival.isEnd)]
          : [{ kind: "chunk", side, replacement: "itself" }];
      case "trailers":
        if (phase !== "open") return undefined;
        phase = "ended";
        return [{ kind: "trailers", side }];
      default:
        return arrival satisfies never;
    }
  };
}
