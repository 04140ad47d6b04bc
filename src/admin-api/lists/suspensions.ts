/** List of the suspensions by operators. */

import { choice, nullable, object, text, time } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const SUSPENSION_KINDS = ["provider", "key", "profile", "model", "mcp", "a2a", "issuer"] as const;

export const suspensions = defineList({
  help: "Lists the suspensions.",
  query: LIST_QUERY,
  row: object("A suspension: an operator switched an object off.", {
    kind: choice("Kind of the suspended object.", SUSPENSION_KINDS),
    name: text("Name of the suspended object."),
    reason: text("Reason that the operator gave. Callers see it in their error."),
    by: text("Operator who suspended the object."),
    created_at: time("Time of the suspension."),
    until: nullable(time("Time at which the suspension ends. Null if it lasts until an operator lifts it.")),
    status: choice("`active`, or `ended` after the time in `until`.", ["active", "ended"]),
  }),
  identity: ["kind", "name"],
  get: {
    about: "access",
    aliases: ["suspended"],
    name: ["kind", "name"],
    columns: ["kind", "name", "status", "reason", "by", "until"],
  },
});
