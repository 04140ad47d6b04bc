/** Which modes of a filter can be worked with. Source: ext-proc reference, A.4 and A.5. */
import type { ExchangeTerms, PeerMode, PeerModes, ResponseTerms } from "./types.ts";

interface OwnModes {
  readonly request: ExchangeTerms["mode"];
  /** Undefined: responses are left alone. */
  readonly response: ResponseTerms["mode"] | undefined;
}

/**
 * Why the filter's modes cannot be worked with; undefined: they can. A whole body in one message is as good as a streamed one;
 * of one that is cut the rest would go on unseen.
 */
export function mismatchOf(own: OwnModes, peer: PeerModes): string | undefined {
  const { request, response } = own;
  if (request === "duplex" ? peer.request !== "duplex" : !CHUNKS.has(peer.request)) {
    return `${REQUEST} is ${request}, and the filter's request_body_mode is ${NAMES[peer.request]}`;
  }
  // It takes no override beside duplex: what it does not send by itself it never sends.
  if (response === "duplex" && request === "streamed" && peer.request === "none") {
    return `${RESPONSE} is duplex, beside which no filter lets its request_body_mode of NONE be overridden`;
  }
  if (response === undefined || peer.response === "none") return undefined;
  if (response === "duplex" ? peer.response === "duplex" : CHUNKS.has(peer.response)) return undefined;
  return `${RESPONSE} is ${response}, and the filter's response_body_mode is ${NAMES[peer.response]}`;
}

/** Whether the filter is sure to keep responses to itself: where no override of ours is honoured. */
export const keepsResponses = (own: OwnModes, peer: PeerModes): boolean =>
  own.response !== undefined && peer.response === "none" && !asksByOverride(own);

/** An override is honoured where no body is duplex. */
export const asksByOverride = ({ request, response }: OwnModes): boolean =>
  request === "streamed" && response !== "duplex";

const CHUNKS: ReadonlySet<PeerMode> = new Set(["none", "streamed", "buffered"]);

const REQUEST = "extproc.request_body_mode";
const RESPONSE = "extproc.inspect_responses";

/** As the filter's configuration has them. */
const NAMES: Readonly<Record<PeerMode, string>> = {
  none: "NONE",
  streamed: "STREAMED",
  buffered: "BUFFERED",
  buffered_partial: "BUFFERED_PARTIAL",
  duplex: "FULL_DUPLEX_STREAMED",
};
