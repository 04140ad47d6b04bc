/** List of the refused requests of the last hour, by caller, code and cause. */

import { choice, integer, nullable, object, text, time } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";

export const refusals = defineList({
  help: "Lists the requests that this node refused in the last hour, by caller, error code and cause.",
  query: MEASURED_QUERY,
  row: object("Requests that a node refused in the last hour, with the same caller, error code and cause.", {
    node: text("Node that refused them."),
    caller_kind: choice(
      "Kind of caller. `unrecognised`: the credential was not accepted. `others`: callers beyond the maximum that is listed one by one.",
      ["key", "agent", "user", "anonymous", "unrecognised", "others"],
    ),
    caller: nullable(
      text(
        "Name of the key, user or agent, if it is known. For `unrecognised`, the id of the presented key if no such key exists.",
      ),
    ),
    code: text("Error code of the answers."),
    cause: nullable(
      choice("What refused the requests. Null if `code` says it already.", [
        "rule",
        "guardrail",
        "budget",
        "profile",
        "suspension",
        "credential",
      ]),
    ),
    cause_name: nullable(
      text(
        "Name of the cause; `profile <profile>/<rule>` for a rule of a profile. For a credential, what is wrong with it.",
      ),
    ),
    last_minute: integer("Number of requests refused in the last 60 seconds."),
    last_hour: integer("Number of requests refused in the last 60 minutes."),
    first_at: time("Time at which the first request of this row was refused."),
    last_at: time("Time at which the last request of this row was refused."),
    last_request: text("Id of the last request, as in the header `x-gateway-request-id` of its answer."),
  }),
  identity: ["node", "caller_kind", "caller", "code", "cause", "cause_name", "first_at"],
  get: {
    about: "traffic",
    aliases: ["denials"],
    name: ["caller"],
    columns: [
      "caller_kind",
      "caller",
      "code",
      "cause",
      "cause_name",
      "last_minute",
      "last_hour",
      "last_request",
      "node",
    ],
  },
});
