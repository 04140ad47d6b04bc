/** Messages and answers of one HTTP exchange of a peer: ext_proc without its wire format. Source: ext-proc reference, part A. */
import type { GatewayError } from "../../../base/index.ts";
import type { ProxiedShape } from "../../core/agents/index.ts";

export type Side = "request" | "response";

/** Header names in lower case and their values, alternating; includes pseudo-headers. One character per byte (Latin-1). */
export type HeaderList = readonly string[];

/** Body modes of a filter. Source: ext-proc reference, 0.3, BodySendMode. */
export type PeerMode = "none" | "streamed" | "buffered" | "buffered_partial" | "duplex";

/** Modes that the first message reports; absent from filters older than Envoy 1.34. */
export interface PeerModes {
  readonly request: PeerMode;
  readonly response: PeerMode;
}

export type Arrival =
  /** `isEnd`: no body follows. `modes`: only on the first message. */
  | {
      readonly kind: "headers";
      readonly side: Side;
      readonly headers: HeaderList;
      readonly isEnd: boolean;
      readonly modes: PeerModes | undefined;
    }
  | { readonly kind: "body"; readonly side: Side; readonly bytes: Buffer; readonly isEnd: boolean }
  | { readonly kind: "trailers"; readonly side: Side };

/** The request as it arrived, which is inspected. */
export interface WholeRequest {
  readonly headers: HeaderList;
  readonly body: Buffer;
  /** Memory for what is produced while it is inspected. */
  readonly room: Room;
}

export interface Room {
  /** Maximum size of the body in bytes, also after decompression. */
  readonly maxBodyBytes: number;
  /** Reserves memory, or releases it if `bytes` is negative. Returns false if there is no room. */
  readonly hold: (bytes: number) => boolean;
}

export type Verdict =
  | { readonly kind: "allow" }
  /** `headers`: new values by lower-case name, sent with the body. */
  | { readonly kind: "rewrite"; readonly body: Buffer; readonly headers?: ReadonlyMap<string, string> }
  /** `shape`: protocol that the request speaks; `undefined` if it follows from the request head. */
  | { readonly kind: "refuse"; readonly error: GatewayError; readonly shape?: ProxiedShape | undefined };

export type Answer =
  /** `asksBody`: adds an override of the filter's mode. `dropsLength`: removes `content-length`. */
  | {
      readonly kind: "headers";
      readonly side: Side;
      readonly dropsLength: boolean;
      readonly asksBody: boolean;
      /** New values by lower-case name. */
      readonly sets?: ReadonlyMap<string, string> | undefined;
      /** Headers to remove beside the length, by lower-case name. */
      readonly drops?: readonly string[] | undefined;
      /** Whether the override also asks for the response. */
      readonly asksResponse?: boolean;
    }
  /** Answer to one chunk of a streamed body: it goes on unchanged, is held back, or is replaced by these bytes. */
  | {
      readonly kind: "chunk";
      readonly side: Side;
      readonly becomes: "itself" | "nothing" | Buffer;
      /** New values by lower-case name. A filter that has sent the headers already ignores them. */
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
  /** Starts the inspection, once; its verdict goes to `decided`. */
  | { readonly do: "inspect"; readonly request: WholeRequest }
  /** Sends an immediate response, which is the last message; the stream then ends with status OK. */
  | { readonly do: "refuse"; readonly error: GatewayError; readonly shape?: ProxiedShape | undefined }
  /** Ends the stream with an error. `detail` contains no text of the request. */
  | { readonly do: "fail"; readonly fault: StreamFault; readonly detail: string }
  /** Hands bytes of the response to the inspection. `told` receives what may go on, now or later; then `fed` is called. */
  | { readonly do: "feed"; readonly bytes: Buffer; readonly isEnd: boolean }
  /** Counts bytes that passed although they should have been inspected. */
  | { readonly do: "count"; readonly what: "body_not_sent" | "observed" | "response_not_sent" | "response_trailers" };

/** Changes to the headers of a response. */
export interface HeadChanges {
  readonly drops: readonly string[];
  readonly sets: ReadonlyMap<string, string>;
}

/** Result of inspecting a response so far. */
export type ResponseNews =
  /** These bytes may go on. `head`: header changes, used if the headers were not sent yet. */
  | { readonly kind: "shown"; readonly bytes: Buffer; readonly head: HeadChanges }
  /** The whole response was inspected, and this is the rest of it. */
  | { readonly kind: "ended"; readonly bytes: Buffer; readonly head: HeadChanges }
  /**
   * Nothing more of the response goes on. `late`: what is sent instead, once headers or bytes were sent. `sets`: for headers
   * that may not have been sent.
   */
  | {
      readonly kind: "refused";
      readonly error: GatewayError;
      readonly late: Buffer;
      readonly sets: ReadonlyMap<string, string>;
    };

/** How responses are inspected: `extproc.inspect_responses`. */
export interface ResponseTerms {
  readonly mode: "streamed" | "duplex";
  /** Request headers to set so that the response can be read, by lower-case name. */
  readonly asking: (request: HeaderList) => ReadonlyMap<string, string> | undefined;
  /**
   * Called when a response with a body begins. Returns `undefined` if it is not inspected, else the header changes that are
   * sent before the body was read.
   */
  readonly begin: (request: HeaderList, response: HeaderList) => HeadChanges | undefined;
}

/** The caller that opened the exchange releases its memory. */
export interface ExchangeTerms extends Room {
  /** `extproc.request_body_mode`. */
  readonly mode: "streamed" | "duplex";
  /** `undefined` if responses are not inspected. */
  readonly responses: ResponseTerms | undefined;
}

export interface PeerExchange {
  readonly arrived: (arrival: Arrival) => readonly Step[];
  /** Takes the verdict of the inspection. Does nothing if the exchange is over by then. */
  readonly decided: (verdict: Verdict) => readonly Step[];
  readonly told: (news: ResponseNews) => readonly Step[];
  readonly fed: () => readonly Step[];
  /** Whether the peer still waits for an answer. */
  readonly isOwing: () => boolean;
  /** Called when the peer has closed its side. */
  readonly left: () => readonly Step[];
  /** Whether nothing more will be answered, whatever arrives. */
  readonly isOver: () => boolean;
}
