/** What the service is opened with, and what it tells. */
import type { Log } from "../../base/index.ts";
import type { ExchangeTerms, StreamFault, Verdict, WholeRequest } from "./exchange/index.ts";

export interface InspectorOptions {
  /** `host:port`. */
  readonly address: string;
  /** `extproc.request_body_mode`. */
  readonly mode: ExchangeTerms["mode"];
  readonly maxBodyBytes: number;
  /** Of all streams together. */
  readonly maxHeldBytes: number;
  readonly maxStreams: number;
  /** Rejects with what refuses the request. The signal: nobody waits for it any more. */
  readonly inspect: (request: WholeRequest, signal: AbortSignal) => Promise<Verdict>;
  readonly counted: (what: Counted) => void;
  readonly log: Pick<Log, "error">;
}

export type Counted = StreamFault | "body_not_sent" | "observed" | "unreadable" | "too_many_streams";

export interface Inspector {
  readonly port: number;
  /** No new stream; those that are open go on until they end, or for so long: then they end with an error. */
  readonly close: (graceMs: number) => Promise<void>;
}
