/** Providers as the node asked has met them. */

import { ANSWERED_BY, answers, EVERY_NODE, listsMeasured, NO_BODY, type Operation } from "../operation.ts";
import { integer, list, nullable, object, type TypeOf, text, time } from "../schema.ts";

/** Failures that a node remembers of a provider. */
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
});

export const backendOperations = {
  list_backends: listsMeasured("backends", "Lists the providers as this node has met them in the last minute."),
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
} as const satisfies Record<string, Operation>;

export type BackendFailure = TypeOf<typeof backendFailure>;
