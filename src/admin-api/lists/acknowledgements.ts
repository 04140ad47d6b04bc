/** List of the acknowledged alerts. */

import { choice, integer, nullable, object, text, time } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

/** Severities of an alert, the worst last. */
export const ATTENTION_SEVERITIES = ["note", "warn", "fail"] as const;

export const acknowledgements = defineList({
  help: "Lists the alerts that operators have acknowledged.",
  query: LIST_QUERY,
  row: object("An alert that an operator has acknowledged.", {
    name: text("Name of the alert, such as `provider:acme-chat`."),
    reason: text("Reason that the operator gave."),
    by: text("Operator who acknowledged the alert."),
    created_at: time("Time of the acknowledgement."),
    until: time("Time at which the acknowledgement ends."),
    severity: nullable(
      choice(
        "Severity when the alert was acknowledged. Null if it was not given. The alert is shown again if it becomes more severe.",
        ATTENTION_SEVERITIES,
      ),
    ),
    degree: nullable(
      integer("Number of objects that the alert was about when it was acknowledged. Null if it was not given."),
    ),
    status: choice("`active`, or `ended` after the time in `until`.", ["active", "ended"]),
  }),
  identity: ["name"],
  get: { about: "cluster", aliases: ["acks"], name: ["name"], columns: ["name", "reason", "by", "until", "status"] },
});
