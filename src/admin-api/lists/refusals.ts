/** List of the refused requests of the last hour, by caller, code and cause. */

import { choice, integer, nullable, object, text, time } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";

export const refusals = defineList({
  help: "Lists what this node refused in the last hour, by caller, code and what refused it: a rule, a budget, a credential.",
  query: MEASURED_QUERY,
  row: object("Requests that a node refused in the last hour, told together by caller, code and cause.", {
    node: text("Node that refused them."),
    caller_kind: choice(
      "Kind of caller that was refused; `unrecognised`: its credential is not accepted; `others`: callers beyond those that are listed singly.",
      ["key", "agent", "user", "anonymous", "unrecognised", "others"],
    ),
    caller: nullable(
      text(
        "Name of the key, the user or the agent, where one is known; of `unrecognised` the id of the key that was presented and does not exist.",
      ),
    ),
    code: text("Code of the answers."),
    cause: nullable(
      choice("What refused them; null: the code tells.", [
        "rule",
        "guardrail",
        "budget",
        "profile",
        "suspension",
        "credential",
      ]),
    ),
    cause_name: nullable(
      text("Its name, of a profile's rule `profile <profile>/<rule>`; of a credential, what is wrong with it."),
    ),
    last_minute: integer("Refused in the last 60 seconds."),
    last_hour: integer("Refused in the last 60 minutes."),
    first_at: time("When the first request of this row was refused."),
    last_at: time("When the last request of this row was refused."),
    last_request: text("Id of the last request, as its answer carried it."),
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
