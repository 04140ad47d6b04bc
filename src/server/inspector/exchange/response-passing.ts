/**
 * A response that is left alone, of a filter that sends it all the same: each message is answered so that it goes on as it
 * came. Source: ext-proc reference, A.1, A.3.
 */
import { piecesOf } from "./pieces.ts";
import type { Answer, Arrival, PeerMode } from "./types.ts";

type Phase = "first" | "open" | "ended";

/** `mode`: of the filter, where it told. Undefined is answered what comes out of its order. */
export function passResponse(mode: PeerMode | undefined): (arrival: Arrival) => readonly Answer[] | undefined {
  const side = "response";
  let phase: Phase = "first";
  return (arrival) => {
    switch (arrival.kind) {
      case "headers":
        // An informational response may precede the one that counts.
        if (phase === "ended") return undefined;
        phase = arrival.isEnd ? "ended" : "open";
        return [{ kind: "headers", side, dropsLength: false, asksBody: false }];
      case "body":
        // A filter may keep the headers to itself.
        if (phase === "ended") return [];
        phase = arrival.isEnd ? "ended" : "open";
        return mode === "duplex"
          ? [...piecesOf(side, arrival.bytes, arrival.isEnd)]
          : [{ kind: "chunk", side, becomes: "itself" }];
      case "trailers":
        if (phase !== "open") return undefined;
        phase = "ended";
        return [{ kind: "trailers", side }];
      default:
        return arrival satisfies never;
    }
  };
}
