/** Operations on sealed secrets. A value can be written, but is never returned. */

import { integer, object, text } from "../../base/index.ts";
import { TABLES } from "../lists.ts";
import { answers, EMPTY, jsonBody, NO_BODY, NOTHING, type Operation, WRITE_CODES } from "../operation.ts";

/** Maximum length of a value; a certificate chain with its key is a few KiB. */
const MAX_VALUE_LENGTH = 65_536;

const NAMED = object("Which secret.", {
  name: text("As in `${secret:NAME}`.", { pattern: "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$" }),
});
const resource = { kind: "Secret", param: "name" } as const;

export const secretOperations = {
  put_secret: {
    method: "PUT",
    path: "/secrets/{name}",
    group: "write",
    resource,
    help: "Seals a value under a name, in place of the one before.",
    params: NAMED,
    query: NOTHING,
    body: jsonBody(
      object("The value to seal.", {
        value: text("Sealed on the node that is asked, before it goes anywhere.", {
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
    help: "Wraps the data keys again after a change of the cluster secret or of kek_file.",
    params: NOTHING,
    query: NOTHING,
    body: NO_BODY,
    answer: answers(
      object("What was wrapped.", {
        kek: text("Id of the wrapping key now in use."),
        data_keys: integer("Data keys that were wrapped again; 0 if all were wrapped by the present key."),
      }),
    ),
    records: ["kek", "data_keys"],
    codes: WRITE_CODES,
  },
} as const satisfies Record<string, Operation>;
