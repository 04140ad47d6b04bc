/**
 * Defines messages and answers of one HTTP exchange of a peer: ext_proc without its wire format. Source: ext-proc reference, part
 * A.
 */
import type { GatewayError } from "../../../base/index.ts";
import type { ProxiedShape } from "../../core/agents/index.ts";

export type Side = "request" | "response";

/** Alternating header names, in lower case, and values, including pseudo-headers. One character per byte (Latin-1). */
export type HeaderList = readonly string[];

/** Body modes of a filter. Source: ext-proc reference, 0.3, BodySendMode. */
export type PeerMode = "none" | "streamed" | "buffered" | "buffered_partial" | "duplex";

/** Body modes that the first message reports. Filters older than Envoy 1.34 do not report them. */
export interface PeerModes {
  readonly request: PeerMode;
  readonly response: PeerMode;
}

export type Arrival =
  /** Headers have arrived. `isEnd`: no body follows. `modes`: only in the first message. */
  | {
      readonly kind: "headers";
      readonly side: Side;
      readonly headers: HeaderList;
      readonly isEnd: boolean;
      readonly modes: PeerModes | undefined;
    }
  | { readonly kind: "body"; readonly side: Side; readonly bytes: Buffer; readonly isEnd: boolean }
  | { readonly kind: "trailers"; readonly side: Side };

/** Complete request as it arrived, to be inspected. */
export interface WholeRequest {
  readonly headers: HeaderList;
  readonly body: Buffer;
  /** Memory for the results of the inspection. */
  readonly memory: BodyMemory;
}

export interface BodyMemory {
  /** Maximum size of the body in bytes, which also applies after decompression. */
  readonly maxBodyBytes: number;
  /** Reserves memory, or releases it if `bytes` is negative. Returns false if there is no room. */
  readonly reserve: (bytes: number) => boolean;
}

export type Verdict =
  | { readonly kind: "allow" }
  /** The request is rewritten. `headers`: new values by lower-case name, sent with the body. */
  | { readonly kind: "rewrite"; readonly body: Buffer; readonly headers?: ReadonlyMap<string, string> }
  /** The request is refused. `shape`: protocol of the request; `undefined` if the request head determines it. */
  | { readonly kind: "refuse"; readonly error: GatewayError; readonly shape?: ProxiedShape | undefined };

export type Answer =
  /** Answer to headers. `asksBody`: adds an override of the filter's mode. `dropsLength`: removes `content-length`. */
  | {
      readonly kind: "headers";
      readonly side: Side;
      readonly dropsLength: boolean;
      readonly asksBody: boolean;
      /** New header values by lower-case name. */
      readonly sets?: ReadonlyMap<string, string> | undefined;
      /** Headers to remove in addition to the length, by lower-case name. */
      readonly drops?: readonly string[] | undefined;
      /** Whether the override also asks for the response. */
      readonly asksResponse?: boolean;
    }
  /** Answer to one chunk of a streamed body: it is passed on unchanged, held back, or replaced by bytes. */
  | {
      readonly kind: "chunk";
      readonly side: Side;
      readonly replacement: "itself" | "nothing" | Buffer;
      /** New header values by lower-case name. A filter that has already sent the headers ignores them. */
      readonly sets?: ReadonlyMap<string, string> | undefined;
    }
  /** Part of a duplex body. */
  | { readonly kind: "piece"; readonly side: Side; readonly bytes: Buffer; readonly isEnd: boolean }
  | { readonly kind: "trailers"; readonly side: Side };

/** Fault that ends the stream with a gRPC error. A filter that fails closed then refuses the request. */
export type StreamFault = "mode_mismatch" | "out_of_order" | "abandoned";

/** Action for the caller of the state machine. Steps are carried out in order. */
export type Step =
  | { readonly do: "answer"; readonly answer: Answer }
  /** Starts the inspection, once. Its verdict is passed to `applyVerdict`. */
  | { readonly do: "inspect"; readonly request: WholeRequest }
  /** Sends an immediate response, which is the last message. The stream then ends with status OK. */
  | { readonly do: "refuse"; readonly error: GatewayError; readonly shape?: ProxiedShape | undefined }
  /** Ends the stream with an error. `detail` contains no text of the request. */
  | { readonly do: "fail"; readonly fault: StreamFault; readonly detail: string }
  /**
   * Passes bytes of the response to the inspection. `applyNews` receives the bytes that may be sent on, now or later; then `afterFeed` is
   * called.
   */
  | { readonly do: "feed"; readonly bytes: Buffer; readonly isEnd: boolean }
  /** Counts bytes that passed although they should have been inspected. */
  | { readonly do: "count"; readonly what: "body_not_sent" | "observed" | "response_not_sent" | "response_trailers" };

/** Changes to the headers of a response. */
export interface HeadChanges {
  readonly drops: readonly string[];
  readonly sets: ReadonlyMap<string, string>;
}

/** Result of the inspection of a response so far. */
export type ResponseNews =
  /** These bytes may be sent on. `head`: header changes, used if the headers were not sent yet. */
  | { readonly kind: "shown"; readonly bytes: Buffer; readonly head: HeadChanges }
  /** The whole response was inspected, and these bytes are the rest of it. */
  | { readonly kind: "ended"; readonly bytes: Buffer; readonly head: HeadChanges }
  /**
   * Nothing more of the response is sent on. `late`: bytes to send instead, if headers or bytes were already sent. `sets`: new
   * values of headers that may not have been sent.
   */
  | {
      readonly kind: "refused";
      readonly error: GatewayError;
      readonly late: Buffer;
      readonly sets: ReadonlyMap<string, string>;
    };

/** Terms for the inspection of responses: `extproc.inspect_responses`. */
export interface ResponseInspectionOptions {
  readonly mode: "streamed" | "duplex";
  /** Returns the request headers to set so that the response can be read, by lower-case name. */
  readonly requestHeaders: (request: HeaderList) => ReadonlyMap<string, string> | undefined;
  /**
   * Called when a response with a body begins. Returns the header changes to send before the body was read, or `undefined` if the
   * response is not inspected.
   */
  readonly begin: (request: HeaderList, response: HeaderList) => HeadChanges | undefined;
}

/** Terms of an exchange. The caller that opened the exchange releases its memory. */
export interface ExchangeOptions extends BodyMemory {
  /** Request mode, as in `extproc.request_body_mode`. */
  readonly mode: "streamed" | "duplex";
  /** Terms for responses; `undefined` if they are not inspected. */
  readonly responses: ResponseInspectionOptions | undefined;
}

export interface PeerExchange {
  readonly receive: (arrival: Arrival) => readonly Step[];
  /** Takes the verdict of the inspection. Has no effect if the exchange is over by then. */
  readonly applyVerdict: (verdict: Verdict) => readonly Step[];
  readonly applyNews: (news: ResponseNews) => readonly Step[];
  readonly afterFeed: () => readonly Step[];
  /** Whether the peer still waits for an answer. */
  readonly isAnswerOwed: () => boolean;
  /** Must be called when the peer has closed its side. */
  readonly endOfInput: () => readonly Step[];
  /** Whether nothing more will be answered, whatever messages arrive. */
  readonly isClosed: () => boolean;
}
