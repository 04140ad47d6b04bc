/** Providers as the node asked has met them. */

import { answers, lists, NO_BODY, NOTHING, type Operation } from "../operation.ts";
import { integer, list, nullable, object, type TypeOf, text, time } from "../schema.ts";

/** Failures that a node remembers of a provider. */
export const KEPT_FAILURES = 50;

export const backendFailure = object("An attempt that failed.", {
  time: time("When."),
  status: nullable(integer("Status that the provider answered with; null: it gave no answer.")),
  kind: text("What failed, as the label `outcome` of `gateway_upstream_attempts_total` names it."),
  attempt: integer("Which attempt of its request, from 1."),
  moved_to: nullable(text("Provider that was to be asked next, the same one for a retry; null: none.")),
});

export const backendOperations = {
  list_backends: lists("backends", "Lists the providers as this node has met them in the last minute."),
  list_backend_errors: {
    method: "GET",
    path: "/backends/{name}/errors",
    group: "read",
    resource: { kind: "Backend", param: "name" },
    help: "Lists the last 50 failures that this node had with a provider, newest first.",
    params: object("Which provider.", { name: text("Name of the provider.", { maxLength: 256 }) }),
    query: NOTHING,
    body: NO_BODY,
    answer: answers(object("Failures.", { items: list("Newest first.", backendFailure) })),
    codes: ["not_found"],
  },
} as const satisfies Record<string, Operation>;

export type BackendFailure = TypeOf<typeof backendFailure>;
