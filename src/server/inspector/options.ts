/** Defines the options and events of the inspector. */
import type { Log } from "../../base/index.ts";
import type { Account } from "../memory/index.ts";
import type { ResponseInspection } from "./answer/answer-inspection.ts";
import type {
  ExchangeOptions,
  HeaderList,
  ResponseInspectionOptions,
  StreamFault,
  Verdict,
  WholeRequest,
} from "./exchange/index.ts";

export interface InspectorOptions {
  /** Listen address in the form `host:port`. */
  readonly address: string;
  /** Mode for requests, as in `extproc.request_body_mode`. */
  readonly mode: ExchangeOptions["mode"];
  /** Mode for responses, as in `extproc.inspect_responses`; `undefined` if they are not inspected. */
  readonly responses?: ResponseInspectionOptions["mode"] | undefined;
  /** Maximum size of a gRPC message, in bytes. */
  readonly maxMessageBytes: number;
  /** Memory account for held bytes, shared with all other users of held bodies in this process. */
  readonly account: Account;
  /** Maximum number of streams of all peers. One peer may use three quarters of them. */
  readonly maxStreams: number;
  /** Idle timeout for a peer that neither completes its request nor reads its answers, in milliseconds. */
  readonly maxQuietMs: number;
  /** Idle timeout for a response that is awaited or stalled, and for a stream that only observes, in milliseconds. */
  readonly maxSilentMs: number;
  /**
   * Called for each new stream. Returns the inspection that the stream uses until its end, so that a reload does not change it
   * midway.
   */
  readonly begin: (peer: string) => StreamInspection;
  readonly observer: InspectorObserver;
  readonly log: Pick<Log, "error">;
}

export interface StreamInspection {
  readonly maxBodyBytes: number;
  /** Inspects a request. Rejects with the error that refuses it. The signal aborts when the peer is gone. */
  readonly inspect: (request: WholeRequest, signal: AbortSignal) => Promise<Verdict>;
  /** Inspection of the response; `undefined` if responses are not inspected. */
  readonly answers?: StreamResponseInspection | undefined;
  /** Called when nothing more is inspected. May be called more than once. */
  readonly onOver?: () => void;
}

/** Inspection of the response to one request. */
interface StreamResponseInspection {
  /** Whether the response may have to be read. If so, it is requested without compression. */
  readonly areRead: boolean;
  /** Begins the inspection of a response. Returns `undefined` if this response is not inspected. */
  readonly begin: (request: HeaderList, response: HeaderList) => ResponseInspection | undefined;
}

/** Receiver of the inspector's events. `peer`: address of the peer, without its port. */
export interface InspectorObserver {
  readonly count: (what: InspectorEvent, peer: string, detail: string) => void;
  /** Reports the outcome and duration of a request's inspection. */
  readonly countInspection: (outcome: Verdict["kind"], peer: string, seconds: number) => void;
}

export type InspectorEvent =
  | StreamFault
  | "body_not_sent"
  | "response_not_sent"
  | "response_trailers"
  | "observed"
  | "unreadable"
  | "too_many_streams"
  | "stalled";

export interface Inspector {
  /** Address that was bound. */
  readonly address: string;
  readonly port: number;
  readonly openStreams: () => number;
  readonly heldBytes: () => number;
  /** Stops accepting streams. Open streams may finish within `graceMs`; then they end with an error. */
  readonly close: (graceMs: number) => Promise<void>;
}
