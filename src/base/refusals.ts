/**
 * Table of the errors that the gateway itself answers with.
 *
 * A code is stable: clients, runbooks and dashboards read it. Its status, and whether a client may usefully repeat the request,
 * follow from the code and from nothing else. The reference of error codes and the OpenAPI document are generated from here.
 * Source: design decisions, section 2.
 */

interface RefusalRule {
  /** HTTP status of the answer. */
  readonly status: number;
  /** If false, the answer carries `x-should-retry: false`, because both official SDKs otherwise retry 409, 429 and 5xx. */
  readonly mayRetry: boolean;
  /** Listener that answers with it: the data plane, the admin API, or both. */
  readonly on: "data plane" | "admin API" | "both";
  /** Cause, as a sentence. */
  readonly cause: string;
  /** Remedy for the client or the operator, in one or two sentences. */
  readonly remedy: string;
}

export const REFUSALS = {
  invalid_request: {
    status: 400,
    mayRetry: true,
    on: "data plane",
    cause: "The request cannot be read: its body is not valid JSON, or it names no model although the route needs one.",
    remedy: "Correct the request. The message names the field.",
  },
  fidelity_loss: {
    status: 400,
    mayRetry: false,
    on: "data plane",
    cause: "The request uses a capability that no channel for its model has.",
    remedy:
      "Leave the capability out of the request, choose a model whose provider has it, or set `on_fidelity_loss: allow` to forward the request without it. `param` names the field.",
  },
  invalid: {
    status: 400,
    mayRetry: true,
    on: "admin API",
    cause: "A parameter, header or body of an admin request does not match its description.",
    remedy: "Correct the request. The admin API reference describes each operation.",
  },
  tls_required: {
    status: 400,
    mayRetry: false,
    on: "data plane",
    cause: "The request arrived in plain HTTP at a listener that speaks TLS. It was not read.",
    remedy: "Use `https://` in the client's base URL.",
  },
  unauthenticated: {
    status: 401,
    mayRetry: false,
    on: "both",
    cause: "The request has no credential, or one that is not recognized.",
    remedy:
      "Check the key or token. `gateway get refusals` shows why the credential was not recognized, and `gateway keys find` finds the key that a text belongs to.",
  },
  policy_denied: {
    status: 403,
    mayRetry: false,
    on: "data plane",
    cause: "An access rule denied the request.",
    remedy:
      "`gateway explain REQUEST-ID` names the rule. Change the rule or the caller's profile if the request should be allowed.",
  },
  token_exchange_refused: {
    status: 403,
    mayRetry: false,
    on: "data plane",
    cause: "The caller's token cannot be exchanged for a token of the MCP server or agent.",
    remedy: "Call with a token of the issuer that `token_exchange.issuer` names. A virtual key cannot be exchanged.",
  },
  policy_error: {
    status: 403,
    mayRetry: false,
    on: "data plane",
    cause: "The condition of an access rule or guardrail rule could not be evaluated, and the rule fails closed.",
    remedy:
      "The log names the rule and the error. Make the condition robust, for example with `has()`, and test it with `gateway -test-rules`.",
  },
  model_not_allowed: {
    status: 403,
    mayRetry: false,
    on: "data plane",
    cause: "The caller's profile does not list the model.",
    remedy: "Ask for a model of `GET /v1/models`, or add the model to `allowed_models` of the profile.",
  },
  no_pool_subset: {
    status: 403,
    mayRetry: false,
    on: "data plane",
    cause: "The caller's profile is confined to a pool subset that no pool for the request has.",
    remedy: "Add the subset to the pool of a provider that serves the model, or correct `pool_subset` of the profile.",
  },
  guardrail_denied: {
    status: 403,
    mayRetry: false,
    on: "data plane",
    cause: "A guardrail rule denied the request or the response.",
    remedy:
      "`gateway explain REQUEST-ID` names the rule and the types of the findings. Remove the text, or change the rule.",
  },
  forbidden: {
    status: 403,
    mayRetry: true,
    on: "admin API",
    cause: "The admin policy does not permit the operation to this caller.",
    remedy: "Ask for a role that permits it. The message names the action, and `admin.policy_file` decides.",
  },
  not_found: {
    status: 404,
    mayRetry: true,
    on: "both",
    cause: "There is no such route, MCP server, agent or stored object.",
    remedy: "Check the path. A base URL that ends in `/v1` must not be followed by a second `/v1`.",
  },
  model_not_found: {
    status: 404,
    mayRetry: true,
    on: "data plane",
    cause: "No provider lists the model, and there is no default provider.",
    remedy:
      "Ask for a model of `GET /v1/models`, or add the model to `models` of a provider or set `default_provider`.",
  },
  thread_not_found: {
    status: 404,
    mayRetry: false,
    on: "data plane",
    cause:
      "The request continues a message thread that its provider does not store, or that the caller's budget does not allow.",
    remedy: "Send the whole conversation. Anthropic's SDK does so by itself.",
  },
  response_not_found: {
    status: 404,
    mayRetry: false,
    on: "data plane",
    cause: "The request names a response that the gateway translated, and translated responses are not stored.",
    remedy: "Send the earlier items in the request instead of an id.",
  },
  origin_not_allowed: {
    status: 403,
    mayRetry: false,
    on: "data plane",
    cause:
      "A browser page of another site called a data plane that is open to pages of this machine only, because it has no `auth`.",
    remedy: "Set `auth`, or list the page's origin in `GATEWAY_CORS_ORIGINS`.",
  },
  method_not_allowed: {
    status: 405,
    mayRetry: true,
    on: "admin API",
    cause: "The admin path exists, but not with this method.",
    remedy: "Use a method that the `allow` header lists.",
  },
  request_timeout: {
    status: 408,
    mayRetry: true,
    on: "both",
    cause: "The headers or the body of the request did not arrive in time.",
    remedy: "Send the request again. If it happens often, look at the network between client and gateway.",
  },
  conflict: {
    status: 409,
    mayRetry: true,
    on: "admin API",
    cause:
      "The change contradicts the stored state, or the object can only be changed elsewhere, such as in the deployment document.",
    remedy: "Read the current state and decide again. A deployment that comes from a file is changed in the file.",
  },
  stale: {
    status: 412,
    mayRetry: true,
    on: "admin API",
    cause: "`If-Match` names a revision that is no longer the newest.",
    remedy: "Read the newest revision, apply the change to it, and send it again.",
  },
  body_too_large: {
    status: 413,
    mayRetry: true,
    on: "both",
    cause: "The body is larger than the limit. No upstream was called.",
    remedy: "Send less, or raise `max_body_bytes` of the deployment document.",
  },
  entry_too_large: {
    status: 413,
    mayRetry: true,
    on: "admin API",
    cause: "The change is larger than an entry of the raft log may be.",
    remedy: "Split the document into several sources, or shorten it.",
  },
  refused: {
    status: 422,
    mayRetry: true,
    on: "admin API",
    cause: "The document or archive cannot be applied. Nothing was changed.",
    remedy:
      "Correct the problems that `details` lists. `gateway config diff FILE` shows them before anything is written.",
  },
  budget_exhausted: {
    status: 429,
    mayRetry: false,
    on: "data plane",
    cause: "The caller's budget is spent for the current window.",
    remedy: "Wait for the next window, which `retry-after` states, or raise `limit` of the budget.",
  },
  websocket_not_carried: {
    status: 426,
    mayRetry: false,
    on: "data plane",
    cause: "The client asked for a WebSocket where the gateway carries none.",
    remedy: "Send the same request over HTTP. Clients that try a WebSocket first do so by themselves.",
  },
  headers_too_large: {
    status: 431,
    mayRetry: true,
    on: "both",
    cause: "The headers of the request are larger than the limit.",
    remedy: "Send fewer or shorter headers.",
  },
  internal: {
    status: 500,
    mayRetry: true,
    on: "both",
    cause: "The gateway failed. The log contains the cause.",
    remedy: "Search the log for the request id, and report the defect.",
  },
  upstream_unreachable: {
    status: 502,
    mayRetry: true,
    on: "data plane",
    cause: "The last attempt could not connect to the upstream, or the connection ended without an answer.",
    remedy: "`gateway check` tests the connection. `failover.to` lets another provider take over.",
  },
  upstream_invalid: {
    status: 502,
    mayRetry: true,
    on: "data plane",
    cause: "The upstream's answer could not be read or has no meaning in its dialect.",
    remedy: "The message says what was wrong. Check the provider's `dialect` and `base_url`.",
  },
  upstream_redirect: {
    status: 502,
    mayRetry: false,
    on: "data plane",
    cause: "The upstream answered with a redirect, which the gateway does not follow with a credential.",
    remedy: "Set `base_url` to the address that the redirect leads to.",
  },
  credential_unavailable: {
    status: 502,
    mayRetry: true,
    on: "data plane",
    cause: "A token endpoint or the platform gave the gateway no credential for the upstream.",
    remedy: "The log contains the reason. `gateway check` asks the token endpoint or the platform again.",
  },
  unsupported_version: {
    status: 502,
    mayRetry: false,
    on: "data plane",
    cause: "The MCP server or agent speaks another revision of its protocol.",
    remedy: "Update the server or agent to the revision that the gateway speaks.",
  },
  guardrail_error: {
    status: 503,
    mayRetry: true,
    on: "data plane",
    cause: "A guardrail detector with `on_error: fail_closed` failed.",
    remedy: "The log names the detector and the failure. Repair its server or model, or set `on_error: fail_open`.",
  },
  no_public_url: {
    status: 503,
    mayRetry: false,
    on: "data plane",
    cause: "The answer would contain an address of the gateway, and the deployment has no `public_url`.",
    remedy: "Set `public_url` in the deployment document.",
  },
  removed: {
    status: 503,
    mayRetry: true,
    on: "data plane",
    cause: "The node was removed from its cluster more than 10 s ago, so its keys and suspensions are out of date.",
    remedy: "Stop the node. To bring it back, start it with `cluster.join`, on its data directory or on an empty one.",
  },
  suspended: {
    status: 503,
    mayRetry: true,
    on: "data plane",
    cause:
      "An operator suspended the key, model, provider or server that the request needs. The status is 403 if it is the caller.",
    remedy:
      "The message states the operator's reason. `gateway get suspensions` lists all, and `gateway lift` ends one.",
  },
  budget_unavailable: {
    status: 503,
    mayRetry: true,
    on: "data plane",
    cause: "The node has spent its share of the budget and cannot reach the leader for more.",
    remedy: "Restore the quorum: `gateway status` shows which nodes are missing.",
  },
  audit_unavailable: {
    status: 503,
    mayRetry: true,
    on: "both",
    cause: "The decision could not be recorded, because the audit queue is full or the trail has failed.",
    remedy: "Read the audit output and the disk of `audit.dir`: the log says what is slow or failed.",
  },
  trailers_not_inspected: {
    status: 501,
    mayRetry: false,
    on: "data plane",
    cause: "The inspector received a body that ends in trailers in streamed mode, which cannot be inspected.",
    remedy: "Set `request_body_mode: duplex` and the filter's mode `FULL_DUPLEX_STREAMED`.",
  },
  no_certificate: {
    status: 503,
    mayRetry: true,
    on: "data plane",
    cause: "The listener has no certificate yet.",
    remedy:
      "Wait for the first certificate. If it does not come, `gateway check` and `gateway get certificates` say why.",
  },
  overloaded: {
    status: 503,
    mayRetry: true,
    on: "data plane",
    cause:
      "More requests or bytes are in flight than the node accepts, or another process of the gateway did not answer in time.",
    remedy:
      "Repeat the request. If it stays, add nodes, or raise `GATEWAY_MAX_IN_FLIGHT` or `GATEWAY_MAX_BUFFERED_BYTES`.",
  },
  stopping: {
    status: 503,
    mayRetry: true,
    on: "data plane",
    cause: "The node is stopping, and the answer did not come within `GATEWAY_DRAIN`.",
    remedy: "Send the request again: another node, or the restarted one, serves it.",
  },
  no_leader: {
    status: 503,
    mayRetry: true,
    on: "admin API",
    cause: "The cluster has no leader that the write could reach in time.",
    remedy: "Restore the quorum: `gateway status` shows which nodes are missing.",
  },
  busy: {
    status: 503,
    mayRetry: true,
    on: "admin API",
    cause: "The queue of admin requests is full.",
    remedy: "Send the request again after `retry-after`.",
  },
  upstream_timeout: {
    status: 504,
    mayRetry: true,
    on: "data plane",
    cause: "The last attempt got no response headers within `first_byte_timeout`.",
    remedy: "Raise `first_byte_timeout`, or add `timeout` to `failover.when` so that another provider takes over.",
  },
  upstream_incomplete: {
    status: 502,
    mayRetry: true,
    on: "data plane",
    cause: "The upstream ended the connection in the middle of its answer.",
    remedy: "Send the request again. If it happens often, look at the provider and at proxies on the way to it.",
  },
  disk_low: {
    status: 507,
    mayRetry: true,
    on: "admin API",
    cause: "The disk of the node has too little free space to accept a change.",
    remedy: "Free space on the disk of `cluster.data_dir`. The log says how much is free and how much is needed.",
  },
} as const satisfies Record<string, RefusalRule>;

export type RefusalCode = keyof typeof REFUSALS;
