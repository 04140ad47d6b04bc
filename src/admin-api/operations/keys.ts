/** Operations on virtual keys: mint, change, rotate, delete. The text of a key exists only in the answer that created it. */

import { nullable, object, optional, text } from "../../base/index.ts";
import { TABLES } from "../list-table.ts";
import { metadata } from "../lists/keys.ts";
import {
  answers,
  creates,
  EMPTY,
  jsonBody,
  NO_BODY,
  NOTHING,
  type Operation,
  WRITE_CODES,
} from "../operation-definition.ts";

const keyName = text("Name of a key.", { pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$" });
const profile = text("Name of a profile.", { pattern: "^[^\\u0000-\\u001f\\u007f]{1,128}$" });
const expiresIn = text("Time from now until the key expires, such as `720h`.", {
  format: "positive-duration",
  "x-max-duration": "876000h",
});

const NAMED = object("Path parameters.", { name: keyName });

export const mintedKey = object("A virtual key with its text.", {
  ...TABLES.keys.keys,
  key: optional(
    text("Text of the key, which is returned only once. Absent if `Idempotency-Key` repeats an earlier request."),
  ),
});

const resource = { kind: "Key", param: "name" } as const;

export const keyOperations = {
  create_key: {
    method: "POST",
    path: "/keys",
    group: "write",
    resource: { kind: "Table", name: "keys" },
    help: "Mints a virtual key and returns its text, which is not shown again.",
    params: NOTHING,
    query: NOTHING,
    body: jsonBody(
      object("The key to mint.", {
        name: keyName,
        profile: optional(profile),
        metadata: optional(metadata),
        expires_in: optional(expiresIn),
      }),
    ),
    answer: creates(mintedKey),
    records: ["id", "name", "profile", "expires_at"],
    codes: WRITE_CODES,
  },
  get_key: {
    method: "GET",
    path: "/keys/{name}",
    group: "read",
    resource,
    help: "Shows one virtual key.",
    params: NAMED,
    query: NOTHING,
    body: NO_BODY,
    answer: answers(TABLES.keys),
    codes: ["not_found"],
  },
  update_key: {
    method: "PATCH",
    path: "/keys/{name}",
    group: "write",
    resource,
    help: "Changes the given fields of a virtual key; null removes the profile or the expiry.",
    params: NAMED,
    query: NOTHING,
    body: jsonBody(
      object("The fields to change.", {
        profile: optional(nullable(profile)),
        metadata: optional(metadata),
        expires_in: optional(nullable(expiresIn)),
      }),
    ),
    answer: answers(TABLES.keys),
    records: ["profile", "expires_at"],
    codes: ["not_found", ...WRITE_CODES],
  },
  delete_key: {
    method: "DELETE",
    path: "/keys/{name}",
    group: "write",
    resource,
    help: "Revokes a virtual key permanently, so that it is refused at once.",
    params: NAMED,
    query: NOTHING,
    body: NO_BODY,
    answer: EMPTY,
    codes: ["not_found", ...WRITE_CODES],
  },
  rotate_key: {
    method: "POST",
    path: "/keys/{name}/rotate",
    group: "write",
    resource,
    help: "Gives a virtual key a new text, which is shown only once; the old text is refused at once.",
    params: NAMED,
    query: NOTHING,
    body: NO_BODY,
    answer: answers(mintedKey),
    records: ["id"],
    codes: ["not_found", ...WRITE_CODES],
  },
} as const satisfies Record<string, Operation>;
