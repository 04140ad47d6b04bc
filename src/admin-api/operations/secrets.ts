/** Operations on sealed secrets. A value can be written, but is never returned. */

import { integer, object, text } from "../../base/index.ts";
import { TABLES } from "../list-table.ts";
import { answers, EMPTY, jsonBody, NO_BODY, NOTHING, type Operation, WRITE_CODES } from "../operation-definition.ts";

/** Maximum length of a value; a certificate chain with its key is a few KiB. */
const MAX_VALUE_LENGTH = 65_536;

const NAMED = object("Path parameters.", {
  name: text("Name of the secret, as in `${secret:NAME}`.", { pattern: "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$" }),
});
const resource = { kind: "Secret", param: "name" } as const;

export const secretOperations = {
  put_secret: {
    method: "PUT",
    path: "/secrets/{name}",
    group: "write",
    resource,
    help: "Creates a sealed secret, or replaces its value.",
    params: NAMED,
    query: NOTHING,
    body: jsonBody(
      object("The value to seal.", {
        value: text("The value. The queried node seals it before it stores or sends it anywhere.", {
          minLength: 1,
          maxLength: MAX_VALUE_LENGTH,
        }),
      }),
    ),
    answer: answers(TABLES.secrets),
    records: ["version"],
    codes: WRITE_CODES,
  },
  delete_secret: {
    method: "DELETE",
    path: "/secrets/{name}",
    group: "write",
    resource,
    help: "Deletes a sealed secret.",
    params: NAMED,
    query: NOTHING,
    body: NO_BODY,
    answer: EMPTY,
    codes: ["not_found", ...WRITE_CODES],
  },
  rewrap_secrets: {
    method: "POST",
    path: "/secrets/rewrap",
    group: "write",
    resource: { kind: "Table", name: "secrets" },
    help: "Wraps the data keys again after the cluster secret or `kek_file` was changed.",
    params: NOTHING,
    query: NOTHING,
    body: NO_BODY,
    answer: answers(
      object("Result of the wrapping.", {
        kek: text("Id of the current wrapping key."),
        data_keys: integer(
          "Number of data keys that were wrapped again. 0 if all were already wrapped with the current key.",
        ),
      }),
    ),
    records: ["kek", "data_keys"],
    codes: WRITE_CODES,
  },
} as const satisfies Record<string, Operation>;
