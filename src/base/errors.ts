/**
 * The one error type, and the one table of what the gateway itself answers.
 *
 * A code is stable: clients, runbooks and dashboards read it. Status, whether a client may usefully repeat the
 * request, and whether the official SDKs must be told not to, follow from the code and from nothing else.
 * Source: design decisions, section 2.
 */

interface RefusalRule {
  /** HTTP status of the answer. */
  readonly status: number;
  /** If false, the answer carries `x-should-retry: false`, because both official SDKs otherwise retry 409, 429 and 5xx. */
  readonly mayRetry: boolean;
  /** When this code is used, in one line. The documentation's table is generated from these. */
  readonly when: string;
}

export const REFUSALS = {
  invalid_request: { status: 400, mayRetry: true, when: "the body is not JSON, or names no model where one is needed" },
  fidelity_loss: { status: 400, mayRetry: false, when: "no channel can carry a capability that the request uses" },
  invalid: { status: 400, mayRetry: true, when: "a parameter, field or value of an admin request is invalid" },
  tls_required: {
    status: 400,
    mayRetry: false,
    when: "the request came in plain HTTP to a listener that speaks TLS; it was not read",
  },
  unauthenticated: { status: 401, mayRetry: false, when: "no credential, or one that is not recognized" },
  policy_denied: { status: 403, mayRetry: false, when: "an access rule denied the request" },
  token_exchange_refused: {
    status: 403,
    mayRetry: false,
    when: "the caller's token cannot be exchanged for one of the server or agent",
  },
  policy_error: {
    status: 403,
    mayRetry: false,
    when: "an access rule or a guardrail rule could not be evaluated and fails closed",
  },
  model_not_allowed: { status: 403, mayRetry: false, when: "the caller's profile does not list the model" },
  no_pool_subset: {
    status: 403,
    mayRetry: false,
    when: "the caller's profile is confined to a subset that no pool which may serve the request has",
  },
  guardrail_denied: { status: 403, mayRetry: false, when: "a guardrail rule denied the request" },
  forbidden: { status: 403, mayRetry: true, when: "the admin policy does not permit the operation" },
  not_found: { status: 404, mayRetry: true, when: "no such route, server or agent" },
  model_not_found: { status: 404, mayRetry: true, when: "no provider serves the model and there is no default" },
  thread_not_found: {
    status: 404,
    mayRetry: false,
    when: "the request continues a message thread, which this provider cannot",
  },
  response_not_found: {
    status: 404,
    mayRetry: false,
    when: "a stored response is requested by an id that the gateway issued; the gateway stores none",
  },
  origin_not_allowed: {
    status: 403,
    mayRetry: false,
    when: "a browser page of another site asks a data plane that has no `auth`",
  },
  method_not_allowed: { status: 405, mayRetry: true, when: "the admin path has no such method" },
  request_timeout: { status: 408, mayRetry: true, when: "the request did not arrive in time" },
  conflict: { status: 409, mayRetry: true, when: "the admin write contradicts what is stored, or its single writer" },
  stale: { status: 412, mayRetry: true, when: "If-Match names a revision that is no longer the newest" },
  body_too_large: {
    status: 413,
    mayRetry: true,
    when: "the body is larger than the limit; the upstream was not called",
  },
  entry_too_large: { status: 413, mayRetry: true, when: "the admin write is larger than an entry of the log may be" },
  refused: { status: 422, mayRetry: true, when: "the document or archive cannot be applied; nothing was changed" },
  budget_exhausted: { status: 429, mayRetry: false, when: "the budget of the current window is spent" },
  websocket_not_carried: {
    status: 426,
    mayRetry: false,
    when: "a WebSocket is requested on a route without one; the same request by HTTP is served",
  },
  headers_too_large: { status: 431, mayRetry: true, when: "the request's headers are larger than the limit" },
  internal: { status: 500, mayRetry: true, when: "an internal error of the gateway; its cause is in the log" },
  upstream_unreachable: {
    status: 502,
    mayRetry: true,
    when: "the last attempt could not connect, or the connection ended without an answer",
  },
  upstream_invalid: {
    status: 502,
    mayRetry: true,
    when: "the upstream's answer could not be read or makes no sense; the message says why",
  },
  upstream_redirect: {
    status: 502,
    mayRetry: false,
    when: "the upstream answered with a redirect, which is passed on in flag mode without a credential only",
  },
  credential_unavailable: {
    status: 502,
    mayRetry: true,
    when: "a token endpoint or the platform returns no credential for the upstream",
  },
  unsupported_version: {
    status: 502,
    mayRetry: false,
    when: "the fronted server or agent speaks another revision of its protocol",
  },
  guardrail_error: { status: 503, mayRetry: true, when: "a guardrail detector that fails closed failed" },
  no_public_url: {
    status: 503,
    mayRetry: false,
    when: "an address is requested, and the deployment has no `public_url`",
  },
  removed: {
    status: 503,
    mayRetry: true,
    when: "the node was removed from its cluster more than 10 s ago: its keys and suspensions are out of date",
  },
  suspended: {
    status: 503,
    mayRetry: true,
    when: "an operator suspended the key, model, provider or server that the request needs",
  },
  budget_unavailable: {
    status: 503,
    mayRetry: true,
    when: "the node's allowance is spent and the leader cannot be reached",
  },
  audit_unavailable: { status: 503, mayRetry: true, when: "the audit queue is full" },
  trailers_not_inspected: {
    status: 501,
    mayRetry: false,
    when: "the inspector, in streamed mode, receives a body that ends in trailers",
  },
  no_certificate: { status: 503, mayRetry: true, when: "the listener waits for its first certificate" },
  overloaded: { status: 503, mayRetry: true, when: "more requests or bytes are in flight than the gateway admits" },
  stopping: {
    status: 503,
    mayRetry: true,
    when: "the gateway is stopping, and the answer did not come within GATEWAY_DRAIN",
  },
  no_leader: { status: 503, mayRetry: true, when: "the write reached no leader in time" },
  busy: { status: 503, mayRetry: true, when: "the queue of admin writes is full" },
  upstream_timeout: { status: 504, mayRetry: true, when: "no first byte within the timeout on the last attempt" },
  upstream_incomplete: { status: 502, mayRetry: true, when: "the upstream ended the connection within the answer" },
  disk_low: { status: 507, mayRetry: true, when: "too little is free on the disk to take an admin write" },
} as const satisfies Record<string, RefusalRule>;

export type RefusalCode = keyof typeof REFUSALS;

/**
 * Cause of a refusal, for lists and records that operators read. Names come from the configuration or from fixed lists,
 * never from the caller.
 */
export interface RefusedBy {
  readonly kind: "rule" | "guardrail" | "budget" | "profile" | "suspension" | "credential";
  /** `profile staff/no-previews` for a profile's rule, `provider:acme` for a suspension, the fault for a credential. */
  readonly name: string;
  /** Name of the budget's bucket. */
  readonly bucket?: string;
  /** Cost units that the request needed from the budget, at least and at most. */
  readonly needed?: { readonly least: number; readonly most: number };
  /** Name of the key whose id is in a credential that was not accepted. */
  readonly key?: string | undefined;
  /** Public id in a presented key that no stored key has: it was revoked, or minted elsewhere. Eight letters and digits. */
  readonly keyId?: string | undefined;
}

export interface RefusalOptions extends ErrorOptions {
  /** Request field or capability that the refusal is about; `param` in compat bodies. */
  readonly param?: string;
  /** Value of the `retry-after` header, in seconds. */
  readonly retryAfterSeconds?: number;
  /** Further facts for programs, in answers of the admin API. */
  readonly details?: unknown;
  /** Set if the caller itself is suspended, which is answered 403. Other suspensions are 503, as in the table. */
  readonly suspended?: "caller";
  /** Value of `www-authenticate`, for `unauthenticated`. RFC 9110 section 11.6.1. */
  readonly challenge?: string;
  readonly by?: RefusedBy;
}

/** `message` is shown to the client: never put a credential, a prompt or an upstream's text in it. `cause` is logged. */
export class GatewayError extends Error {
  readonly code: RefusalCode;
  readonly status: number;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly details: unknown;
  readonly challenge: string | undefined;
  readonly by: RefusedBy | undefined;

  constructor(code: RefusalCode, message: string, options: RefusalOptions = {}) {
    super(message, options);
    this.name = "GatewayError";
    this.code = code;
    this.status = options.suspended === "caller" ? 403 : REFUSALS[code].status;
    this.param = options.param;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.details = options.details;
    this.challenge = options.challenge;
    this.by = options.by;
  }
}

/** Converts any thrown value to a refusal. Foreign errors become `internal`, with a text that reveals nothing of the cause. */
export function asRefusal(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new GatewayError("internal", "The gateway failed to handle this request.", { cause: error });
}
