/**
 * Parses an endpoint picker's answers. Only the destination is used, and the `model` of a complete echo of the body. Source:
 * Endpoint Picker protocol 1.0.0; ext-proc reference, B.
 */
import { type HeaderMutation__Output, nestedText, type ProcessingResponse__Output } from "../../ext-proc/index.ts";

const DESTINATION = "x-gateway-destination-endpoint";

/** Maximum number of picked endpoints. A fallback list is short; thousands of endpoints carry no information. */
const MAX_PICKED = 64;

type Destination =
  /** Endpoints in the order of preference, as `address:port`. */
  | { readonly kind: "endpoints"; readonly endpoints: readonly string[] }
  | { readonly kind: "none" }
  /** The header and the metadata name different endpoints. */
  | { readonly kind: "contradiction" };

export function destinationOf({ request_headers: answer, dynamic_metadata: metadata }: ProcessingResponse__Output) {
  const inHeader = mutatedHeader(answer?.response?.header_mutation, DESTINATION);
  const inMetadata = nestedText(metadata, "envoy.lb", DESTINATION);
  return combine(inHeader, inMetadata);
}

function combine(inHeader: string | undefined, inMetadata: string | undefined): Destination {
  if (inHeader !== undefined && inMetadata !== undefined && inHeader !== inMetadata) return { kind: "contradiction" };
  const endpointList = inHeader ?? inMetadata;
  if (endpointList === undefined) return { kind: "none" };
  const endpoints = endpointList
    .split(",", MAX_PICKED)
    .map((endpoint) => endpoint.trim().toLowerCase())
    .filter((endpoint) => endpoint !== "");
  return endpoints.length === 0 ? { kind: "none" } : { kind: "endpoints", endpoints: [...new Set(endpoints)] };
}

/** Returns the value that a mutation sets a header to. `name` must be in lower case. */
export function mutatedHeader(mutation: HeaderMutation__Output | undefined, name: string): string | undefined {
  for (const { header } of mutation?.set_headers ?? []) {
    if (header?.key?.toLowerCase() !== name) continue;
    const raw = header.raw_value;
    return raw !== undefined && raw.length > 0 ? raw.toString("latin1") : header.value;
  }
  return undefined;
}

/** Answer of the picker itself, which the caller receives. */
export interface PickerAnswer {
  readonly status: 429 | 503;
  readonly contentType: string;
  readonly retryAfter: string | undefined;
  readonly body: Buffer;
}

/** Maximum size of a text that is shown as a reason, in bytes. */
const MAX_BODY_BYTES = 64 << 10;

/** Returns the picker's answer if the pool's load is the reason for its refusal, otherwise `undefined`. */
export function overloadAnswer({ immediate_response: answer }: ProcessingResponse__Output): PickerAnswer | undefined {
  const status = answer?.status?.code;
  if (status !== 429 && status !== 503) return undefined;
  const body = answer?.body ?? Buffer.alloc(0);
  const isShown = body.length > 0 && body.length <= MAX_BODY_BYTES;
  const retryAfter = mutatedHeader(answer?.headers, "retry-after");
  return {
    status,
    contentType: isShown
      ? printable(mutatedHeader(answer?.headers, "content-type")) || "text/plain"
      : "application/json",
    retryAfter: retryAfter === undefined || !/^[0-9A-Za-z ,:]{1,40}$/.test(retryAfter) ? undefined : retryAfter,
    body: isShown
      ? body
      : Buffer.from(JSON.stringify({ error: { message: DEFAULT_MESSAGES[status], type: TYPES[status] } })),
  };
}

const printable = (text = ""): string => (/^[\x20-\x7e]{1,200}$/.test(text) ? text : "");

const DEFAULT_MESSAGES = {
  429: "The scheduler of this pool accepts no requests now.",
  503: "No server of this pool is ready.",
} as const;
const TYPES = { 429: "rate_limit_error", 503: "overloaded_error" } as const;
