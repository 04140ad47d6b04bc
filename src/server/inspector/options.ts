/** What the service is opened with, and what it tells. */
import type { Log } from "../../base/index.ts";
import type { Account } from "../memory/index.ts";
import type { BegunAnswer } from "./answer/answer-inspection.ts";
import type { ExchangeTerms, HeaderList, ResponseTerms, StreamFault, Verdict, WholeRequest } from "./exchange/index.ts";

export interface InspectorOptions {
  /** `host:port`. */
  readonly address: string;
  /** `extproc.request_body_mode`. */
  readonly mode: ExchangeTerms["mode"];
  /** `extproc.inspect_responses`; undefined: they are left alone. */
  readonly responses?: ResponseTerms["mode"] | undefined;
  /** Longest gRPC message. */
  readonly maxMessageBytes: number;
  /** Where held bytes are counted, with those of whatever else holds bodies in this process. */
  readonly account: Account;
  /** Of all peers; one of them may have three quarters. */
  readonly maxStreams: number;
  /** For so many milliseconds a peer may say nothing while a request of it is not whole, and read nothing of what it is told. */
  readonly maxQuietMs: number;
  /** As long for what follows: a response that is awaited or stands still, a stream that only watches. */
  readonly maxSilentMs: number;
  /** What a stream of a peer is inspected with, from its first message to its last: no reload changes it. */
  readonly begin: (peer: string) => Inspecting;
  readonly observer: InspectorObserver;
  readonly log: Pick<Log, "error">;
}

export interface Inspecting {
  readonly maxBodyBytes: number;
  /** Rejects with what refuses the request. The signal: nobody waits for it any more. */
  readonly inspect: (request: WholeRequest, signal: AbortSignal) => Promise<Verdict>;
  /** Undefined: nothing reads responses. */
  readonly answers?: InspectingAnswers | undefined;
  /** Nothing more of it is inspected. May be called more than once. */
  readonly over?: () => void;
}

/** How the response of one request is read. */
export interface InspectingAnswers {
  /** Some of them may have to be read: they are asked for without an encoding. */
  readonly areRead: boolean;
  /** Undefined: this one is left alone. */
  readonly begin: (request: HeaderList, response: HeaderList) => BegunAnswer | undefined;
}

/** `peer`: the address that the peer calls from, without its port. */
export interface InspectorObserver {
  readonly counted: (what: Counted, peer: string, detail: string) => void;
  /** What came of a request that was inspected, and how long that took. */
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
  /** As bound. */
  readonly address: string;
  readonly port: number;
  readonly openStreams: () => number;
  readonly heldBytes: () => number;
  /** No new stream; those that are open go on until they end, or for so long: then they end with an error. */
  readonly close: (graceMs: number) => Promise<void>;
}
