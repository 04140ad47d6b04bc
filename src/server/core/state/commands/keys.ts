/** Virtual keys: rows `key/<name>`, and `keyid/<id>` to find a key by its public id. Source: design decisions, section 1. */

import { define, type Site } from "../command.ts";
import { ok, refused } from "../command-refusals.ts";
import { integer, label, mapOf, nullable, object, optional, prose, sha256Hex, text } from "../fields.ts";
import { keyPart, rowFormat } from "../row-format.ts";

const keyId = text(/^[0-9A-Za-z]{4,32}$/, 32);
const metadata = mapOf(label(), prose(1_024), 64);
/** Lifetime of a key, at most a century; a key without expiry has none. */
const lifetimeMs = integer(1, 3_155_760_000_000);

const key = object({
  id: keyId,
  name: label(),
  /** Profile; null if the rules for callers without one apply. */
  profile: nullable(label()),
  metadata,
  /** SHA-256 of the secret part of the key's text, in hex. The text itself is stored nowhere. */
  digest: sha256Hex,
  created_at: integer(),
  /** Expiry, in milliseconds since 1970; null if it never expires. */
  expires_at: nullable(integer()),
});

export type KeyRow = ReturnType<typeof key>;
export const keyRows = rowFormat(key);
export const keyIdRows = rowFormat(label());
export const keyRowKey = (name: string): string => `key/${keyPart(name)}`;
export const keyIdRowKey = (id: string): string => `keyid/${id}`;

const put = (site: Site, row: KeyRow): void => {
  site.draft.put(keyRowKey(row.name), keyRows.write(row));
  site.draft.put(keyIdRowKey(row.id), keyIdRows.write(row.name));
};

const expiryOf = (site: Site, lifetime: number | null): number | null =>
  lifetime === null ? null : site.now + lifetime;

export const keyCreate = define(
  "key.create",
  object({
    id: keyId,
    name: label(),
    profile: nullable(label()),
    metadata,
    digest: sha256Hex,
    expires_in_ms: nullable(lifetimeMs),
  }),
  ({ expires_in_ms, ...fields }, site) => {
    const isTaken = site.draft.get(keyRowKey(fields.name)) ?? site.draft.get(keyIdRowKey(fields.id));
    if (isTaken !== undefined) return refused("exists");
    const row: KeyRow = { ...fields, created_at: site.now, expires_at: expiryOf(site, expires_in_ms) };
    put(site, row);
    return ok({ id: row.id, name: row.name, created_at: row.created_at, expires_at: row.expires_at });
  },
);

/** Changes a key. An absent field stays as it is; `expires_in_ms` counts from now, and null removes the expiry. */
export const keyPatch = define(
  "key.patch",
  object({
    name: label(),
    profile: optional(nullable(label())),
    metadata: optional(metadata),
    expires_in_ms: optional(nullable(lifetimeMs)),
  }),
  (change, site) => {
    const value = site.draft.get(keyRowKey(change.name));
    if (value === undefined) return refused("not_found");
    const row = keyRows.read(value);
    const { profile = row.profile, metadata: given = row.metadata, expires_in_ms } = change;
    const expires_at = expires_in_ms === undefined ? row.expires_at : expiryOf(site, expires_in_ms);
    put(site, { ...row, profile, metadata: given, expires_at });
    return ok({ id: row.id, name: row.name, expires_at });
  },
);

export const keyDelete = define("key.delete", object({ name: label() }), ({ name }, site) => {
  const value = site.draft.get(keyRowKey(name));
  if (value === undefined) return refused("not_found");
  site.draft.delete(keyRowKey(name));
  site.draft.delete(keyIdRowKey(keyRows.read(value).id));
  return ok();
});

/** Replaces the public id and secret under the same name; the old key text is refused from then on. */
export const keyRotate = define(
  "key.rotate",
  object({ name: label(), id: keyId, digest: sha256Hex }),
  ({ name, id, digest }, site) => {
    const value = site.draft.get(keyRowKey(name));
    if (value === undefined) return refused("not_found");
    const row = keyRows.read(value);
    if (id !== row.id && site.draft.get(keyIdRowKey(id)) !== undefined) return refused("exists");
    site.draft.delete(keyIdRowKey(row.id));
    put(site, { ...row, id, digest });
    return ok({ id, name });
  },
);
