/**
 * Operations on acknowledgements: an operator acknowledges an alert with a reason and an end. They change only what the consoles
 * of all operators show.
 */

import { choice, integer, object, optional, text } from "../../base/index.ts";
import { ATTENTION_SEVERITIES } from "../lists/acknowledgements.ts";
import { TABLES } from "../lists.ts";
import { answers, EMPTY, jsonBody, NO_BODY, NOTHING, type Operation, WRITE_CODES } from "../operation.ts";

const SUBJECT = object("What is acknowledged.", {
  name: text("Name of the row of attention, as the console has it: `provider:acme-chat`.", {
    // Excludes `.` and `..`, which would change the URL path.
    pattern: "^(?!\\.{1,2}$)[^\\u0000-\\u001f\\u007f]{1,512}$",
  }),
});
const resource = { kind: "Acknowledgement", param: "name" } as const;

export const acknowledgementOperations = {
  put_acknowledgement: {
    method: "PUT",
    path: "/acknowledgements/{name}",
    group: "write",
    resource,
    help: "Acknowledges a row of attention until it ends or the row gets worse, or replaces its acknowledgement.",
    params: SUBJECT,
    query: NOTHING,
    body: jsonBody(
      object("Why, how long, and how bad it is.", {
        reason: text("Shown to operators.", { pattern: "^[^\\u0000-\\u001f\\u007f]{1,500}$" }),
        duration: text("Go-style duration from now.", { format: "positive-duration", "x-max-duration": "720h" }),
        severity: optional(
          choice("How bad it is now; what is more severe later is shown again.", ATTENTION_SEVERITIES),
        ),
        degree: optional(
          integer("Of how many things the row tells now; once it tells of more it is shown again.", {
            minimum: 0,
            maximum: Number.MAX_SAFE_INTEGER,
          }),
        ),
      }),
    ),
    answer: answers(TABLES.acknowledgements),
    records: ["reason", "until"],
    codes: WRITE_CODES,
  },
  delete_acknowledgement: {
    method: "DELETE",
    path: "/acknowledgements/{name}",
    group: "write",
    resource,
    help: "Lifts an acknowledgement: its row is shown again.",
    params: SUBJECT,
    query: NOTHING,
    body: NO_BODY,
    answer: EMPTY,
    codes: ["not_found", ...WRITE_CODES],
  },
} as const satisfies Record<string, Operation>;
