/** Operations about providers, as measured by the queried node. */

import { choice, integer, list, nullable, object, optional, type TypeOf, text, time } from "../../base/index.ts";
import { ANSWERED_BY, EVERY_NODE } from "../every-node.ts";
import { TABLES } from "../lists.ts";
import { answers, NO_BODY, type Operation } from "../operation.ts";

/** Maximum number of failures that a node remembers per provider. */
export const KEPT_FAILURES = 50;

export const backendFailure = object("An attempt that failed.", {
  time: time("When."),
  status: nullable(integer("Status that the provider answered with; null: it gave no answer.")),
  kind: text("What failed, as the label `outcome` of `gateway_upstream_attempts_total` names it."),
  request: text("Id of the request, as its answer carried it."),
  caller: nullable(text("Name of the key, the user or the agent whose request it was; null: not known.")),
  model: nullable(text("Model that was asked for; null: none.")),
  duration_ms: integer("From the attempt's begin to its failure."),
  error_type: nullable(text("Type of the provider's error, where it told one that is a word.")),
  error_code: nullable(text("Its code, likewise.")),
  attempt: integer("Which attempt of its request, from 1."),
  node: text("Node that met it."),
  moved_to: nullable(text("Provider that was to be asked next, the same one for a retry; null: none.")),
  reason: optional(text("Why its answer could not be used, where it gave one: quotes nothing of it.")),
});

/** Maximum number of pool members that a node reports. */
export const MAX_MEMBERS = 1_000;

export const backendMember = object("A server of a provider's pool, as a node has met it.", {
  address: text("`address:port`, IPv6 in brackets."),
  subsets: list("Subsets of the pool that it is in.", text("Name of a subset.")),
  state: choice(
    "`failing`: the last connect failed, and others are asked first for 1 to 30 s; `idle`: never asked; `draining`: its name resolves to it no more, and it ends what it has.",
    ["ok", "failing", "idle", "draining"],
  ),
  in_flight: integer("Attempts under way."),
  attempts: integer("Attempts since it joined."),
  failures: integer("Connects that failed since it joined."),
  last_error: nullable(
    text("Code of the last failed connect, as `ECONNREFUSED`; `unknown`: it had none; null: none failed."),
  ),
  last_error_at: nullable(time("When that was.")),
  failing_since: nullable(time("When the first connect failed after the last that did not; null: it is not failing.")),
  node: text("Node that has met it so."),
});

export const backendOperations = {
  list_backend_errors: {
    method: "GET",
    path: "/backends/{name}/errors",
    group: "read",
    resource: { kind: "Backend", param: "name" },
    help: "Lists the last 50 failures that this node had with a provider, newest first.",
    params: object("Which provider.", { name: text("Name of the provider.", { maxLength: 256 }) }),
    query: object("Of which nodes.", EVERY_NODE),
    body: NO_BODY,
    answer: answers(object("Failures.", { items: list("Newest first.", backendFailure), ...ANSWERED_BY })),
    codes: ["not_found"],
  },
  list_backend_history: {
    method: "GET",
    path: "/backends/{name}/history",
    group: "read",
    resource: { kind: "Backend", param: "name" },
    help: "Lists what this node measured of a provider in the last 15 minutes, in buckets of 10 seconds, oldest first.",
    params: object("Which provider.", { name: text("Name of the provider.", { maxLength: 256 }) }),
    query: object("Of which nodes.", EVERY_NODE),
    body: NO_BODY,
    answer: answers(object("Buckets.", { items: list("Of each node oldest first.", TABLES.history), ...ANSWERED_BY })),
    codes: ["not_found"],
  },
  list_backend_members: {
    method: "GET",
    path: "/backends/{name}/members",
    group: "read",
    resource: { kind: "Backend", param: "name" },
    help: "Lists the servers of a provider's pool as this node has met them, failing ones first; none where it is no pool.",
    params: object("Which provider.", { name: text("Name of the provider.", { maxLength: 256 }) }),
    query: object("Of which nodes.", EVERY_NODE),
    body: NO_BODY,
    answer: answers(
      object("Members.", {
        items: list("Of each node 1,000 at most, failing ones first.", backendMember),
        unanswered: ANSWERED_BY.unanswered,
        cut: optional(list("Nodes that have more members than they told.", text("Node id."))),
      }),
    ),
    codes: ["not_found"],
  },
} as const satisfies Record<string, Operation>;

export type BackendFailure = TypeOf<typeof backendFailure>;
export type BackendMember = TypeOf<typeof backendMember>;
