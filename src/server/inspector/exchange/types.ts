/**
 * What a peer tells of one HTTP request and its response, and what it is answered: ext_proc without its wire, so that the
 * order of things can be seen. Source: ext-proc reference, part A.
 */
import type { GatewayError } from "../../../base/index.ts";
import type { ProxiedShape } from "../../core/agents/index.ts";

export type Side = "request" | "response";

/** Names in lower case and values in turn, pseudo-headers among them; one character a byte. */
export type HeaderList = readonly string[];

/** Body modes of a filter. Source: ext-proc reference, 0.3, BodySendMode. */
export type PeerMode = "none" | "streamed" | "buffered" | "buffered_partial" | "duplex";

/** What the first message tells of the filter; undefined where it is older than Envoy 1.34. */
export interface PeerModes {
  readonly request: PeerMode;
  readonly response: PeerMode;
}

export type Arrival =
  /** `isEnd`: no body follows. `modes`: on the first message alone. */
  | {
      readonly kind: "headers";
      readonly side: Side;
      readonly headers: HeaderList;
      readonly isEnd: boolean;
      readonly modes: PeerModes | undefined;
    }
  | { readonly kind: "body"; readonly side: Side; readonly bytes: Buffer; readonly isEnd: boolean }
  | { readonly kind: "trailers"; readonly side: Side };

/** The request as it came: what is inspected. */
export interface WholeRequest {
  readonly headers: HeaderList;
  readonly body: Buffer;
  /** For what is made of it while it is inspected. */
  readonly room: Room;
}

export interface Room {
  /** Longest body, in bytes, with its content encoding taken off too. */
  readonly maxBodyBytes: number;
  /** For so many bytes more is taken, or given back where it is negative; false: there is none. */
  readonly hold: (bytes: number) => boolean;
}

export type Verdict =
  | { readonly kind: "allow" }
  /** `headers`: new values by lower-case name, beside the body. */
  | { readonly kind: "rewrite"; readonly body: Buffer; readonly headers?: ReadonlyMap<string, string> }
  /** `shape`: of the protocol that the request speaks; undefined: its head tells. */
  | { readonly kind: "refuse"; readonly error: GatewayError; readonly shape?: ProxiedShape | undefined };

export type Answer =
  /** `asksBody`: with an override of the filter's mode. `dropsLength`: `content-length` is removed. */
  | {
      readonly kind: "headers";
      readonly side: Side;
      readonly dropsLength: boolean;
      readonly asksBody: boolean;
      /** New values by lower-case name. */
      readonly sets?: ReadonlyMap<string, string> | undefined;
      /** Removed beside the length, by lower-case name. */
      readonly drops?: readonly string[] | undefined;
      /** The override asks for the response too. */
      readonly asksResponse?: boolean;
    }
  /** Of one chunk of a streamed body: it goes on as it came, is held back, or is replaced by these bytes. */
  | {
      readonly kind: "chunk";
      readonly side: Side;
      readonly becomes: "itself" | "nothing" | Buffer;
      /** By lower-case name, of headers that a filter may still hold: one that does not passes over them. */
      readonly sets?: ReadonlyMap<string, string> | undefined;
    }
  /** Of a duplex body. */
  | { readonly kind: "piece"; readonly side: Side; readonly bytes: Buffer; readonly isEnd: boolean }
  | { readonly kind: "trailers"; readonly side: Side };

/** What refuses the stream itself, as a gRPC status: a filter that fails closed refuses the request then. */
export type StreamFault = "mode_mismatch" | "out_of_order" | "abandoned";

/** What is to be done, in order. */
export type Step =
  | { readonly do: "answer"; readonly answer: Answer }
  /** Once; `decided` is to be told what comes of it. */
  | { readonly do: "inspect"; readonly request: WholeRequest }
  /** An immediate response, and the last that is said: the stream ends well after it. */
  | { readonly do: "refuse"; readonly error: GatewayError; readonly shape?: ProxiedShape | undefined }
  /** The stream ends with an error; the detail names no text. */
  | { readonly do: "fail"; readonly fault: StreamFault; readonly detail: string }
  /** Of the response: `told` is told what may go on of it, at once or later, and then `fed` that all of this was taken. */
  | { readonly do: "feed"; readonly bytes: Buffer; readonly isEnd: boolean }
  /** Bytes went past that were to be inspected. */
  | { readonly do: "count"; readonly what: "body_not_sent" | "observed" | "response_not_sent" | "response_trailers" };

/** What is to become of the headers of a response. */
export interface HeadChanges {
  readonly drops: readonly string[];
  readonly sets: ReadonlyMap<string, string>;
}

/** What the inspection of a response says of it. */
export type ResponseNews =
  /** May go on. `head`: as its headers are to be, where they did not go yet. */
  | { readonly kind: "shown"; readonly bytes: Buffer; readonly head: HeadChanges }
  /** All of it was judged, and this is the rest. */
  | { readonly kind: "ended"; readonly bytes: Buffer; readonly head: HeadChanges }
  /** Nothing more of it goes on. `late`: in its place, once headers or bytes went. `sets`: for headers that may not have. */
  | {
      readonly kind: "refused";
      readonly error: GatewayError;
      readonly late: Buffer;
      readonly sets: ReadonlyMap<string, string>;
    };

/** How responses are inspected: `extproc.inspect_responses`. */
export interface ResponseTerms {
  readonly mode: "streamed" | "duplex";
  /** Headers of a request whose response can be read then, by lower-case name. */
  readonly asking: (request: HeaderList) => ReadonlyMap<string, string> | undefined;
  /** A response with a body begins. Undefined: it is left alone; else what its headers become that go before it was read. */
  readonly begin: (request: HeaderList, response: HeaderList) => HeadChanges | undefined;
}

/** What is held is given back by whoever opened the exchange. */
export interface ExchangeTerms extends Room {
  /** `extproc.request_body_mode`. */
  readonly mode: "streamed" | "duplex";
  /** Undefined: responses are left alone. */
  readonly responses: ResponseTerms | undefined;
}

export interface PeerExchange {
  readonly arrived: (arrival: Arrival) => readonly Step[];
  /** What the inspection came to. Of no effect when the exchange is over by then. */
  readonly decided: (verdict: Verdict) => readonly Step[];
  readonly told: (news: ResponseNews) => readonly Step[];
  readonly fed: () => readonly Step[];
  /** The peer is to be answered without saying more. */
  readonly isOwing: () => boolean;
  /** The peer says no more. */
  readonly left: () => readonly Step[];
  /** Nothing more is to be answered, whatever comes. */
  readonly isOver: () => boolean;
}
