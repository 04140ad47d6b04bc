/** Operations on suspensions. An operator switches something off immediately, without a change of the configuration. */

import { choice, object, optional, text } from "../../base/index.ts";
import { TABLES } from "../list-table.ts";
import { SUSPENSION_KINDS } from "../lists/suspensions.ts";
import { answers, EMPTY, jsonBody, NO_BODY, NOTHING, type Operation, WRITE_CODES } from "../operation-definition.ts";

const SUBJECT = object("Path parameters.", {
  kind: choice("Kind of the object.", SUSPENSION_KINDS),
  name: text("Name of the object, in printable ASCII characters.", { pattern: "^[!-~]{1,256}$" }),
});
const resource = { kind: "Suspension", param: ["kind", "name"] } as const;

export const suspensionOperations = {
  put_suspension: {
    method: "PUT",
    path: "/suspensions/{kind}:{name}",
    group: "write",
    resource,
    help: "Suspends an object, which must exist unless it is a model, or replaces its suspension.",
    params: SUBJECT,
    query: NOTHING,
    body: jsonBody(
      object("Reason and duration.", {
        reason: text("Reason, which callers see in their error.", { pattern: "^[^\\u0000-\\u001f\\u007f]{1,500}$" }),
        duration: optional(
          text("Duration from now, such as `30m`. If it is empty, the suspension lasts until it is lifted.", {
            format: "duration-or-empty",
            "x-max-duration": "876000h",
          }),
        ),
      }),
    ),
    answer: answers(TABLES.suspensions),
    records: ["reason", "until"],
    codes: ["not_found", ...WRITE_CODES],
  },
  delete_suspension: {
    method: "DELETE",
    path: "/suspensions/{kind}:{name}",
    group: "write",
    resource,
    help: "Lifts a suspension.",
    params: SUBJECT,
    query: NOTHING,
    body: NO_BODY,
    answer: EMPTY,
    codes: ["not_found", ...WRITE_CODES],
  },
} as const satisfies Record<string, Operation>;
