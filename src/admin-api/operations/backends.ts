/** Operations about providers, as measured by the queried node. */

import { choice, integer, list, nullable, object, optional, type TypeOf, text, time } from "../../base/index.ts";
import { ANSWERED_BY, EVERY_NODE } from "../every-node.ts";
import { TABLES } from "../list-table.ts";
import { answers, NO_BODY, type Operation } from "../operation-definition.ts";

export const backendFailure = object("A failed attempt at a provider.", {
  time: time("Time of the failure."),
  status: nullable(integer("HTTP status of the provider's answer. Null if it did not answer.")),
  kind: text("Kind of failure, as in the label `outcome` of the metric `gateway_upstream_attempts_total`."),
  request: text("Id of the request, as in the header `x-gateway-request-id` of its answer."),
  caller: nullable(text("Name of the key, user or agent that sent the request. Null if it is not known.")),
  model: nullable(text("Requested model. Null if there is none.")),
  duration_ms: integer("Milliseconds from the start of the attempt to its failure."),
  error_type: nullable(
    text("Error type in the provider's answer. Null if there is none, or if it is not a single word."),
  ),
  error_code: nullable(
    text("Error code in the provider's answer. Null if there is none, or if it is not a single word."),
  ),
  attempt: integer("Number of the attempt within its request, from 1."),
  node: text("Node that made the attempt."),
  moved_to: nullable(text("Provider of the next attempt, which is the same one for a retry. Null if there was none.")),
  reason: optional(
    text(
      "Why the provider could not be reached or its answer could not be used. Absent for other failures. Contains no text of the answer.",
    ),
  ),
});

/** Maximum number of pool members that a node reports. */
export const MAX_MEMBERS = 1_000;

export const backendMember = object("A server of a provider's pool, as a node measured it.", {
  address: text("Address of the server as `address:port`, with IPv6 addresses in brackets."),
  subsets: list("Subsets of the pool that the server belongs to.", text("Name of a subset.")),
  state: choice(
    "`failing`: the last connection attempt failed, and other servers are preferred for 1 to 30 s. `idle`: not used yet. `draining`: the name no longer resolves to this address, and only running requests finish.",
    ["ok", "failing", "idle", "draining"],
  ),
  in_flight: integer("Attempts in flight."),
  attempts: integer("Attempts since the server joined the pool."),
  failures: integer("Failed connection attempts since the server joined the pool."),
  last_error: nullable(
    text(
      "Error code of the last failed connection attempt, such as `ECONNREFUSED`, or `unknown`. Null if none failed.",
    ),
  ),
  last_error_at: nullable(time("Time of the last failed connection attempt.")),
  failing_since: nullable(
    time("Time of the first failure since the last successful connection. Null if the server is not failing."),
  ),
  node: text("Node that measured the server."),
});

export const backendOperations = {
  list_backend_errors: {
    method: "GET",
    path: "/backends/{name}/errors",
    group: "read",
    resource: { kind: "Backend", param: "name" },
    help: "Lists the last 50 failed attempts of this node at a provider, newest first.",
    params: object("Path parameters.", { name: text("Name of the provider.", { maxLength: 256 }) }),
    query: object("Query parameters.", EVERY_NODE),
    body: NO_BODY,
    answer: answers(object("Failures.", { items: list("Failures, newest first.", backendFailure), ...ANSWERED_BY })),
    codes: ["not_found"],
  },
  list_backend_history: {
    method: "GET",
    path: "/backends/{name}/history",
    group: "read",
    resource: { kind: "Backend", param: "name" },
    help: "Lists what this node measured for a provider in the last 15 minutes, in buckets of 10 seconds, oldest first.",
    params: object("Path parameters.", { name: text("Name of the provider.", { maxLength: 256 }) }),
    query: object("Query parameters.", EVERY_NODE),
    body: NO_BODY,
    answer: answers(
      object("Buckets.", { items: list("Buckets of each node, oldest first.", TABLES.history), ...ANSWERED_BY }),
    ),
    codes: ["not_found"],
  },
  list_backend_members: {
    method: "GET",
    path: "/backends/{name}/members",
    group: "read",
    resource: { kind: "Backend", param: "name" },
    help: "Lists the servers of a provider's pool, failing ones first, or none if the provider has no pool.",
    params: object("Path parameters.", { name: text("Name of the provider.", { maxLength: 256 }) }),
    query: object("Query parameters.", EVERY_NODE),
    body: NO_BODY,
    answer: answers(
      object("Members.", {
        items: list("Up to 1,000 servers of each node, failing ones first.", backendMember),
        unanswered: ANSWERED_BY.unanswered,
        cut: optional(list("Nodes that have more servers than were returned.", text("Node id."))),
      }),
    ),
    codes: ["not_found"],
  },
} as const satisfies Record<string, Operation>;

export type BackendFailure = TypeOf<typeof backendFailure>;
export type BackendMember = TypeOf<typeof backendMember>;
