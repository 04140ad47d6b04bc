/**
 * Operations on acknowledgements: an operator acknowledges an alert with a reason and an end. They change only what the consoles
 * of all operators show.
 */

import { choice, integer, object, optional, text } from "../../base/index.ts";
import { TABLES } from "../list-table.ts";
import { ATTENTION_SEVERITIES } from "../lists/acknowledgements.ts";
import { answers, EMPTY, jsonBody, NO_BODY, NOTHING, type Operation, WRITE_CODES } from "../operation-definition.ts";

const SUBJECT = object("Path parameters.", {
  name: text("Name of the alert, such as `provider:acme-chat`.", {
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
    help: "Acknowledges an alert for a time, or until it gets worse, or replaces its acknowledgement.",
    params: SUBJECT,
    query: NOTHING,
    body: jsonBody(
      object("Reason, duration and severity.", {
        reason: text("Reason, which other operators see.", { pattern: "^[^\\u0000-\\u001f\\u007f]{1,500}$" }),
        duration: text("Duration from now, such as `8h`.", { format: "positive-duration", "x-max-duration": "720h" }),
        severity: optional(
          choice("Current severity. The alert is shown again if it becomes more severe.", ATTENTION_SEVERITIES),
        ),
        degree: optional(
          integer("Number of objects that the alert is about. The alert is shown again if the number grows.", {
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
    help: "Lifts an acknowledgement, so that the alert is shown again.",
    params: SUBJECT,
    query: NOTHING,
    body: NO_BODY,
    answer: EMPTY,
    codes: ["not_found", ...WRITE_CODES],
  },
} as const satisfies Record<string, Operation>;
