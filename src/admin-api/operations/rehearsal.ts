/** Operation that rehearses a configuration change on recent requests. */

import { choice, flag, integer, list, nullable, object, optional, type TypeOf, text, time } from "../../base/index.ts";
import { answers, jsonBody, NOTHING, type Operation } from "../operation.ts";

/** Maximum length of a rehearsed document, in UTF-16 units. */
const MAX_DOCUMENT = 4_194_304;

export const REHEARSED_OUTCOMES = ["refused", "served", "other_provider", "other_guardrail"] as const;

const outcome = choice(
  "`refused`: it was served and would be refused; `served`: the other way round; `other_provider`, `other_guardrail`: it would go to another provider, or other guardrail rules would act.",
  REHEARSED_OUTCOMES,
);
const cause = text(
  "What would refuse or refused it, such as `rule no-previews`; the provider; or the guardrail rules.",
);
const requests = integer("How many requests.");

export const rehearsalResult = object(
  "What the configuration would have made of the requests that were served lately.",
  {
    requests,
    since: time("Requests that came earlier are not counted."),
    covered_since: time(
      "Since when every node that answered has a record of each request; later than `since` where it keeps fewer.",
    ),
    same: integer("Requests that would end as they did."),
    refused: integer("Served requests that would be refused."),
    served: integer("Refused requests that would be served."),
    other_provider: integer("Requests that would go to another provider."),
    other_guardrail: integer("Requests on which other guardrail rules would act."),
    unknown: integer("Requests whose outcome is unknown."),
    changes: list(
      "By outcome and cause, the most requests first.",
      object("Requests that would end otherwise.", {
        outcome,
        cause,
        requests,
        callers: list(
          "By caller, the most requests first; `others` for those beyond 200.",
          object("A caller.", { caller: text("Name of the key, user or agent."), requests }),
        ),
      }),
    ),
    reasons: list(
      "Why outcomes are unknown, the reason with the most requests first.",
      object("A reason.", { reason: text("In words."), requests }),
    ),
    examples: nullable(
      list(
        "Up to 50 requests that would end otherwise; null where the policy does not permit `list_requests`.",
        object("A request.", {
          id: text("Its id, for `gateway explain`."),
          node: text("Node that served it."),
          time: time("When it came."),
          caller: text("Name of the key, user or agent."),
          outcome,
          cause,
        }),
      ),
    ),
    left: integer("Requests that were not judged within 5 s."),
    nodes: list("Nodes whose requests were judged.", text("Node id.")),
    unanswered: list("Nodes that gave no records in time.", text("Node id.")),
    disabled: list("Nodes that keep no records: `GATEWAY_REHEARSAL_MEMORY` is 0 there.", text("Node id.")),
    configuration_changed: flag("Whether the document differs from the one in force."),
  },
);

export const rehearsalOperations = {
  rehearse: {
    method: "POST",
    path: "/rehearse",
    group: "read",
    isRecorded: true,
    resource: { kind: "Config", name: "config" },
    help: "Judges a document by the requests that all nodes served lately; writes nothing.",
    params: NOTHING,
    query: NOTHING,
    body: jsonBody(
      object("What to rehearse; without `document` the configuration in force.", {
        source: optional(
          text("Source that the document would replace; `default` when left out.", {
            pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$",
          }),
        ),
        document: optional(text("The document, YAML or JSON.", { maxLength: MAX_DOCUMENT })),
        since: optional(
          text("How far back requests are counted; 1h when left out.", {
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
