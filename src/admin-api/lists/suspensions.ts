/** List of the suspensions by operators. */

import { choice, nullable, object, text, time } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const SUSPENSION_KINDS = ["provider", "key", "profile", "model", "mcp", "a2a", "issuer"] as const;

export const suspensions = defineList({
  help: "Lists what is suspended.",
  query: LIST_QUERY,
  row: object("Something an operator switched off.", {
    kind: choice("What is suspended.", SUSPENSION_KINDS),
    name: text("Its name."),
    reason: text("Why; shown to callers."),
    by: text("Principal who suspended it."),
    created_at: time("Since when."),
    until: nullable(time("When it ends by itself; null: when it is lifted.")),
    status: choice("`ended` once `until` has passed.", ["active", "ended"]),
  }),
  identity: ["kind", "name"],
  get: {
    about: "access",
    aliases: ["suspended"],
    name: ["kind", "name"],
    columns: ["kind", "name", "status", "reason", "by", "until"],
  },
});
