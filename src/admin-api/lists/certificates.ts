/** List of the certificates of the data listener, as each node presents them. */

import { choice, integer, list, nullable, object, text, time } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";

export const certificates = defineList({
  help: "Lists the front door's certificate; none where it serves plain HTTP.",
  query: MEASURED_QUERY,
  row: object("The front door's certificate, as a node presents it.", {
    names: list("Names it has; before there is one, those that it is to have.", text("Name.")),
    source: text("Where it comes from: file of the certificate, or directory URL of the authority."),
    state: choice("`pending`: there is none yet; `expires_soon` and `expires_now`: a newer one should be here.", [
      "pending",
      "valid",
      "expires_soon",
      "expires_now",
      "expired",
    ]),
    serial: nullable(text("Hex; null: there is none yet.")),
    issuer: nullable(text("Who issued it.")),
    not_before: nullable(time("Since when it is valid.")),
    not_after: nullable(time("When it expires.")),
    next_renewal: nullable(
      time("When it is renewed; null if there is none yet, or if the files are renewed by others."),
    ),
    step: nullable(text("What is being done for a newer one; null: nothing just now.")),
    last_error: nullable(text("Why there is no newer one; null: nothing has failed since the last.")),
    last_error_at: nullable(time("When that was found last.")),
    failures: integer("Attempts that failed since the last that succeeded."),
    next_attempt: nullable(time("When it is tried again after a failure.")),
    node: text("Node that presents it."),
  }),
  identity: ["node", "source"],
  get: {
    about: "configuration",
    aliases: ["certs"],
    name: ["node"],
    columns: ["node", "source", "names", "not_after", "next_renewal", "last_error"],
  },
});
