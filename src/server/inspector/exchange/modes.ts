/** Decides which body modes of a filter are compatible with the inspector's. Source: ext-proc reference, A.4 and A.5. */
import type { ExchangeOptions, PeerMode, PeerModes, ResponseInspectionOptions } from "./types.ts";

interface OwnModes {
  readonly request: ExchangeOptions["mode"];
  /** Mode for responses; `undefined` if they are not inspected. */
  readonly response: ResponseInspectionOptions["mode"] | undefined;
}

/**
 * Returns why the filter's modes are incompatible, or `undefined` if they are compatible. A whole body in one message is as good
 * as a streamed one. A mode that truncates is not, because the rest would pass without inspection.
 */
export function mismatchOf(own: OwnModes, peer: PeerModes): string | undefined {
  const { request, response } = own;
  if (request === "duplex" ? peer.request !== "duplex" : !CHUNKED_MODES.has(peer.request)) {
    return `${REQUEST_MODE_KEY} is ${request}, and the filter's request_body_mode is ${ENVOY_MODE_NAMES[peer.request]}`;
  }
  // A filter accepts no override if another mode is duplex, so it never sends a body that it is not configured to send.
  if (response === "duplex" && request === "streamed" && peer.request === "none") {
    return `${RESPONSE_MODE_KEY} is duplex, which requires a filter with another request_body_mode than NONE`;
  }
  if (response === undefined || peer.response === "none") return undefined;
  if (response === "duplex" ? peer.response === "duplex" : CHUNKED_MODES.has(peer.response)) return undefined;
  return `${RESPONSE_MODE_KEY} is ${response}, and the filter's response_body_mode is ${ENVOY_MODE_NAMES[peer.response]}`;
}

/** Returns whether the filter will certainly not send responses: its mode is NONE and it accepts no override from this server. */
export const withholdsResponses = (own: OwnModes, peer: PeerModes): boolean =>
  own.response !== undefined && peer.response === "none" && !canOverrideMode(own);

/** Returns whether the mode can be overridden. A filter accepts an override only if no body is duplex. */
export const canOverrideMode = ({ request, response }: OwnModes): boolean =>
  request === "streamed" && response !== "duplex";

const CHUNKED_MODES: ReadonlySet<PeerMode> = new Set(["none", "streamed", "buffered"]);

const REQUEST_MODE_KEY = "extproc.request_body_mode";
const RESPONSE_MODE_KEY = "extproc.inspect_responses";

/** Names of the modes in the filter's configuration. */
const ENVOY_MODE_NAMES: Readonly<Record<PeerMode, string>> = {
  none: "NONE",
  streamed: "STREAMED",
  buffered: "BUFFERED",
  buffered_partial: "BUFFERED_PARTIAL",
  duplex: "FULL_DUPLEX_STREAMED",
};
