/** Operation that rehearses a configuration change on recent requests. */

import { choice, flag, integer, list, nullable, object, optional, type TypeOf, text, time } from "../../base/index.ts";
import { answers, jsonBody, NOTHING, type Operation } from "../operation-definition.ts";

/** Maximum length of a rehearsed document, in UTF-16 units. */
const MAX_DOCUMENT = 4_194_304;

const REHEARSED_OUTCOMES = ["refused", "served", "other_provider", "other_guardrail"] as const;

const outcome = choice(
  "`refused`: the request was served and would be refused. `served`: it was refused and would be served. `other_provider`: it would go to another provider. `other_guardrail`: other guardrail rules would act.",
  REHEARSED_OUTCOMES,
);
const cause = text(
  "What would refuse or did refuse the request, such as `rule no-previews`; or the other provider; or the guardrail rules.",
);
const requests = integer("Number of requests.");

export const rehearsalResult = object("What the configuration would have done with recent requests.", {
  requests,
  since: time("Start of the period. Earlier requests are not counted."),
  covered_since: time(
    "Start of the period for which all nodes that answered have complete records. Later than `since` if a node kept fewer records.",
  ),
  same: integer("Requests with the same outcome."),
  refused: integer("Served requests that would be refused."),
  served: integer("Refused requests that would be served."),
  other_provider: integer("Requests that would go to another provider."),
  other_guardrail: integer("Requests on which other guardrail rules would act."),
  unknown: integer("Requests whose outcome cannot be determined."),
  changes: list(
    "Requests with another outcome, grouped by outcome and cause, largest group first.",
    object("A group of requests.", {
      outcome,
      cause,
      requests,
      callers: list(
        "Callers of these requests, most requests first. `others` stands for callers beyond 200.",
        object("A caller.", { caller: text("Name of the key, user or agent."), requests }),
      ),
    }),
  ),
  reasons: list(
    "Why outcomes are unknown, most frequent reason first.",
    object("A reason.", { reason: text("The reason, as a sentence."), requests }),
  ),
  examples: nullable(
    list(
      "Up to 50 requests with another outcome. Null if the admin policy does not permit `list_requests`.",
      object("A request.", {
        id: text("Id of the request, for `gateway explain`."),
        node: text("Node that served the request."),
        time: time("Time at which the request arrived."),
        caller: text("Name of the key, user or agent."),
        outcome,
        cause,
      }),
    ),
  ),
  left: integer("Requests that could not be judged within the limit of 5 s."),
  nodes: list("Nodes whose requests were judged.", text("Node id.")),
  unanswered: list("Nodes that did not send their records in time.", text("Node id.")),
  disabled: list("Nodes that keep no records, because `GATEWAY_REHEARSAL_MEMORY` is 0.", text("Node id.")),
  configuration_changed: flag("Whether the configuration would differ from the one in force."),
});

export const rehearsalOperations = {
  rehearse: {
    method: "POST",
    path: "/rehearse",
    group: "read",
    isRecorded: true,
    resource: { kind: "Config", name: "config" },
    help: "Tests a document on the recent requests of all nodes and writes nothing.",
    params: NOTHING,
    query: NOTHING,
    body: jsonBody(
      object("Document to test. Without `document` the configuration in force is tested.", {
        source: optional(
          text("Source that the document would replace. The default is `default`.", {
            pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$",
          }),
        ),
        document: optional(text("The document, YAML or JSON.", { maxLength: MAX_DOCUMENT })),
        since: optional(
          text("Age of the oldest request that is tested, such as `30m`. The default is 1h.", {
            format: "duration",
            "x-max-duration": "168h",
          }),
        ),
      }),
    ),
    answer: answers(rehearsalResult),
    records: ["requests", "refused", "served", "other_provider", "other_guardrail", "unknown"],
    codes: ["busy", "refused", "body_too_large"],
  },
} as const satisfies Record<string, Operation>;

export type RehearsalResult = TypeOf<typeof rehearsalResult>;
