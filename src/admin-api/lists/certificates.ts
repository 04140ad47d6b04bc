/** List of the certificates of the data listener, as each node presents them. */

import { choice, integer, list, nullable, object, text, time } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";

export const certificates = defineList({
  help: "Lists the certificates of the data listener, or none if it serves plain HTTP.",
  query: MEASURED_QUERY,
  row: object("A certificate of the data listener, as a node presents it.", {
    names: list("Names in the certificate, or the requested names if there is none yet.", text("Name.")),
    source: text("Origin of the certificate: its file, or the directory URL of the ACME authority."),
    state: choice("`pending`: there is no certificate yet. `expires_soon`, `expires_now`: its renewal is overdue.", [
      "pending",
      "valid",
      "expires_soon",
      "expires_now",
      "expired",
    ]),
    serial: nullable(text("Serial number in hexadecimal. Null if there is no certificate yet.")),
    issuer: nullable(text("Authority that issued the certificate.")),
    not_before: nullable(time("Start of its validity.")),
    not_after: nullable(time("Time at which the certificate expires.")),
    next_renewal: nullable(
      time("Time of the next renewal. Null if there is no certificate yet, or if the gateway does not renew it."),
    ),
    step: nullable(text("Current step of the renewal. Null if none is running.")),
    last_error: nullable(text("Why the last renewal failed. Null if none failed since the last success.")),
    last_error_at: nullable(time("Time of the last failure.")),
    failures: integer("Failed renewals since the last success."),
    next_attempt: nullable(time("Time of the next try after a failure.")),
    node: text("Node that presents the certificate."),
  }),
  identity: ["node", "source"],
  get: {
    about: "configuration",
    aliases: ["certs"],
    name: ["node"],
    columns: ["node", "source", "names", "not_after", "next_renewal", "last_error"],
  },
});
