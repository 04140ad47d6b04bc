/** Options and events of the inspector. */
import type { Log } from "../../base/index.ts";
import type { Account } from "../memory/index.ts";
import type { BegunAnswer } from "./answer/answer-inspection.ts";
import type { ExchangeTerms, HeaderList, ResponseTerms, StreamFault, Verdict, WholeRequest } from "./exchange/index.ts";

export interface InspectorOptions {
  /** Listen address, `host:port`. */
  readonly address: string;
  /** `extproc.request_body_mode`. */
  readonly mode: ExchangeTerms["mode"];
  /** `extproc.inspect_responses`; `undefined` if responses are not inspected. */
  readonly responses?: ResponseTerms["mode"] | undefined;
  /** Maximum size of a gRPC message, in bytes. */
  readonly maxMessageBytes: number;
  /** Memory account for held bytes, shared with everything else in this process that holds bodies. */
  readonly account: Account;
  /** Maximum number of streams of all peers. One peer may have three quarters of them. */
  readonly maxStreams: number;
  /** Idle timeout, in milliseconds: of a peer that neither completes its request nor reads its answers. */
  readonly maxQuietMs: number;
  /** Idle timeout, in milliseconds, of what follows: a response that is awaited or stalled, and a stream that only observes. */
  readonly maxSilentMs: number;
  /**
   * Called for each new stream. Returns what the stream is inspected with until its end, so a reload does not change it midway.
   */
  readonly begin: (peer: string) => Inspecting;
  readonly observer: InspectorObserver;
  readonly log: Pick<Log, "error">;
}

export interface Inspecting {
  readonly maxBodyBytes: number;
  /** Inspects a request. Rejects with the error that refuses it. The signal aborts when the peer is gone. */
  readonly inspect: (request: WholeRequest, signal: AbortSignal) => Promise<Verdict>;
  /** `undefined` if responses are not inspected. */
  readonly answers?: InspectingAnswers | undefined;
  /** Called when nothing more is inspected. May be called more than once. */
  readonly over?: () => void;
}

/** Inspection of the response to one request. */
export interface InspectingAnswers {
  /** Whether the response may have to be read. If so, it is requested without compression. */
  readonly areRead: boolean;
  /** Returns `undefined` if this response is not inspected. */
  readonly begin: (request: HeaderList, response: HeaderList) => BegunAnswer | undefined;
}

/** `peer`: address of the peer, without its port. */
export interface InspectorObserver {
  readonly counted: (what: Counted, peer: string, detail: string) => void;
  /** Reports the outcome and duration of a request's inspection. */
  readonly inspected: (outcome: Verdict["kind"], peer: string, seconds: number) => void;
}

export type Counted =
  | StreamFault
  | "body_not_sent"
  | "response_not_sent"
  | "response_trailers"
  | "observed"
  | "unreadable"
  | "too_many_streams"
  | "stalled";

export interface Inspector {
  /** Address as bound. */
  readonly address: string;
  readonly port: number;
  readonly openStreams: () => number;
  readonly heldBytes: () => number;
  /** Stops taking new streams. Open streams may finish within `graceMs`; then they end with an error. */
  readonly close: (graceMs: number) => Promise<void>;
}
