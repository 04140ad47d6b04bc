/** List of the acknowledged alerts. */

import { choice, integer, nullable, object, text, time } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

/** Severities of an alert, the worst last. */
export const ATTENTION_SEVERITIES = ["note", "warn", "fail"] as const;

export const acknowledgements = defineList({
  help: "Lists which rows of attention operators have acknowledged.",
  query: LIST_QUERY,
  row: object("A row of attention that an operator has acknowledged.", {
    name: text("Name of the row, as the console has it."),
    reason: text("Why it is left as it is."),
    by: text("Principal who acknowledged it."),
    created_at: time("Since when."),
    until: time("When it ends by itself."),
    severity: nullable(
      choice("How bad it was then; null: was not said. What is more severe is shown again.", ATTENTION_SEVERITIES),
    ),
    degree: nullable(integer("Of how many things the row told then; null: was not said.")),
    status: choice("`ended` once `until` has passed.", ["active", "ended"]),
  }),
  identity: ["name"],
  get: { about: "cluster", aliases: ["acks"], name: ["name"], columns: ["name", "reason", "by", "until", "status"] },
});
