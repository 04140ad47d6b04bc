/** Converts between ext_proc messages and the exchange's own types. Source: ext-proc reference, parts 0 and A.4 to A.6. */
import type { ProcessingRequest__Output, ProcessingResponse } from "../ext-proc/index.ts";
import type { Answer, Arrival, HeaderList, PeerMode, Side } from "./exchange/index.ts";

/** Maximum number of headers. Proxies allow about a hundred. */
const MAX_HEADERS = 4_096;

const OVERWRITE = 2;
const SEND = 1;
const SKIP = 2;
const NONE = 0;
const STREAMED = 1;

const EMPTY = Buffer.alloc(0);

/** Modes by their number on the wire. */
const MODES: readonly PeerMode[] = ["none", "streamed", "buffered", "buffered_partial", "duplex"];

/** Error for a message that cannot be read. Its text contains nothing from the message. */
export class UnreadableMessage extends Error {}

/**
 * Returns the event of a message, or `undefined` for a message that needs no answer, such as later versions may send. Throws
 * `UnreadableMessage`.
 */
export function arrivalOf(message: ProcessingRequest__Output): Arrival | undefined {
  switch (message.request) {
    case "request_headers":
    case "response_headers": {
      const content = message[message.request];
      const headers = headersOf(content?.headers?.headers ?? []);
      return {
        kind: "headers",
        side: sideOf(message.request),
        headers,
        isEnd: content?.end_of_stream === true,
        modes: modesOf(message),
      };
    }
    case "request_body":
    case "response_body": {
      const content = message[message.request];
      return {
        kind: "body",
        side: sideOf(message.request),
        bytes: content?.body ?? EMPTY,
        isEnd: content?.end_of_stream === true,
      };
    }
    case "request_trailers":
    case "response_trailers":
      return { kind: "trailers", side: sideOf(message.request) };
    case undefined:
      return undefined;
    default:
      return message.request satisfies never;
  }
}

const sideOf = (name: string): Side => (name.startsWith("request") ? "request" : "response");

interface WireHeader {
  readonly key?: string;
  readonly value?: string;
  readonly raw_value?: Buffer;
}

/** Returns the headers. Most peers fill `raw_value`; some fill `value` for pseudo-headers. */
function headersOf(wireHeaders: readonly WireHeader[]): HeaderList {
  if (wireHeaders.length > MAX_HEADERS) throw new UnreadableMessage(`it has more than ${MAX_HEADERS} headers`);
  const list: string[] = [];
  for (const { key = "", value = "", raw_value: raw = EMPTY } of wireHeaders) {
    list.push(key.toLowerCase(), (raw.length > 0 ? raw : Buffer.from(value)).toString("latin1"));
  }
  return list;
}

/** Returns the body modes of the filter. Throws for an unknown mode, because it cannot be supported. */
function modesOf({
  protocol_config: config,
}: ProcessingRequest__Output): Extract<Arrival, { kind: "headers" }>["modes"] {
  if (config === undefined || config === null) return undefined;
  const request = MODES[config.request_body_mode ?? NONE];
  const response = MODES[config.response_body_mode ?? NONE];
  if (request === undefined || response === undefined) throw new UnreadableMessage("its body mode is not known");
  return { request, response };
}

/** Override that asks for the request body only. All fields are set, because a filter takes a missing field as 0. */
const REQUEST_BODY_OVERRIDE = {
  response_header_mode: SKIP,
  request_body_mode: STREAMED,
  response_body_mode: NONE,
  request_trailer_mode: SEND,
  response_trailer_mode: SKIP,
} as const;

const BOTH_BODIES_OVERRIDE = {
  response_header_mode: SEND,
  request_body_mode: STREAMED,
  response_body_mode: STREAMED,
  request_trailer_mode: SEND,
  response_trailer_mode: SEND,
} as const;

export function messageOf(answer: Answer): ProcessingResponse {
  const { side } = answer;
  switch (answer.kind) {
    case "headers": {
      const { dropsLength, sets, drops = [] } = answer;
      const removed = dropsLength ? ["content-length", ...drops] : [...drops];
      const mutation = {
        ...(removed.length > 0 && { remove_headers: removed }),
        ...(sets !== undefined && { set_headers: headerMutation([...sets].flat()) }),
      };
      const headers = Object.keys(mutation).length === 0 ? {} : { response: { header_mutation: mutation } };
      return {
        [`${side}_headers`]: headers,
        ...(answer.asksResponse === true
          ? { mode_override: BOTH_BODIES_OVERRIDE }
          : answer.asksBody && { mode_override: REQUEST_BODY_OVERRIDE }),
      };
    }
    case "chunk": {
      const { replacement, sets } = answer;
      const head = sets !== undefined && { header_mutation: { set_headers: headerMutation([...sets].flat()) } };
      if (replacement === "itself") return { [`${side}_body`]: head === false ? {} : { response: head } };
      const mutation = replacement === "nothing" ? { clear_body: true } : { body: replacement };
      return { [`${side}_body`]: { response: { ...head, body_mutation: mutation } } };
    }
    case "piece": {
      const streamed = { body: answer.bytes, end_of_stream: answer.isEnd };
      return { [`${side}_body`]: { response: { body_mutation: { streamed_response: streamed } } } };
    }
    case "trailers":
      return { [`${side}_trailers`]: {} };
    default:
      return answer satisfies never;
  }
}

export interface ImmediateRefusal {
  readonly status: number;
  /** Header names and values, alternating. */
  readonly headers: readonly string[];
  readonly body: string;
  /** Text for the proxy's access log. */
  readonly details: string;
  /** gRPC status for the client; `undefined` if the client does not speak gRPC. */
  readonly grpcStatus: number | undefined;
}

export function refusalMessage({ status, headers, body, details, grpcStatus }: ImmediateRefusal): ProcessingResponse {
  return {
    immediate_response: {
      status: { code: status },
      headers: { set_headers: headerMutation(headers) },
      body: Buffer.from(body),
      details,
      ...(grpcStatus !== undefined && { grpc_status: { status: grpcStatus } }),
    },
  };
}

/** Formats headers to set. `headers`: names and values, alternating. */
function headerMutation(headers: readonly string[]): {
  readonly header: { readonly key: string; readonly raw_value: Buffer };
  readonly append_action: typeof OVERWRITE;
}[] {
  const set = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const header = { key: headers[at] ?? "", raw_value: Buffer.from(headers[at + 1] ?? "") };
    set.push({ header, append_action: OVERWRITE } as const);
  }
  return set;
}
