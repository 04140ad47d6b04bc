/** List of the virtual keys. */

import { choice, map, nullable, object, text, time } from "../../base/index.ts";
import { defineList, PAGED_QUERY } from "../list-definition.ts";

export const metadata = map(
  "Names and values that the operator chose. Access rules can read them.",
  text("Value.", { pattern: "^[^\\u0000]*$", maxLength: 1024 }),
  // Excludes keys that would set a JavaScript object's prototype.
  { keyPattern: "^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}$", maxProperties: 64 },
);

export const keys = defineList({
  help: "Lists the virtual keys.",
  query: PAGED_QUERY,
  row: object("A virtual key.", {
    id: text("Public part of the key, 8 characters."),
    name: text("Unique name."),
    profile: nullable(text("Profile whose limits apply to the key. Null if it has none.")),
    metadata,
    created_at: time("Time at which the key was minted."),
    expires_at: nullable(time("Time at which the key expires. Null if it never does.")),
    last_used_at: nullable(time("Approximate time of the last use that this node knows of. Null if it knows of none.")),
    status: choice("Whether the key is accepted: only `active` is.", ["active", "suspended", "expired"]),
  }),
  identity: ["id"],
  get: {
    about: "access",
    aliases: ["virtual_keys"],
    name: ["name"],
    columns: ["name", "id", "profile", "status", "expires_at", "last_used_at"],
  },
});
