/** Operations on virtual keys: mint, change, rotate, delete. The text of a key exists only in the answer that created it. */

import { nullable, object, optional, text } from "../../base/index.ts";
import { metadata } from "../lists/keys.ts";
import { TABLES } from "../lists.ts";
import { answers, creates, EMPTY, jsonBody, NO_BODY, NOTHING, type Operation, WRITE_CODES } from "../operation.ts";

const keyName = text("Name of a key.", { pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$" });
const profile = text("Name of a profile.", { pattern: "^[^\\u0000-\\u001f\\u007f]{1,128}$" });
const expiresIn = text("Go-style duration from now.", { format: "positive-duration", "x-max-duration": "876000h" });

const NAMED = object("Which key.", { name: keyName });

export const mintedKey = object("A key, with its text.", {
  ...TABLES.keys.keys,
  key: optional(
    text("The key itself, shown this once. Absent when `Idempotency-Key` repeats a request answered before."),
  ),
});

const resource = { kind: "Key", param: "name" } as const;

export const keyOperations = {
  create_key: {
    method: "POST",
    path: "/keys",
    group: "write",
    resource: { kind: "Table", name: "keys" },
    help: "Mints a virtual key and shows its text once.",
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
    help: "Changes the fields that are given; null takes a profile or an end away.",
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
    help: "Deletes a virtual key, which is refused from then on.",
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
    help: "Gives a key a new text, shown once; the old one is refused from then on.",
    params: NAMED,
    query: NOTHING,
    body: NO_BODY,
    answer: answers(mintedKey),
    records: ["id"],
    codes: ["not_found", ...WRITE_CODES],
  },
} as const satisfies Record<string, Operation>;
