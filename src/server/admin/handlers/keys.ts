/** Virtual keys. A key's text exists only in the answer of the request that minted it; the state contains its hash. */

import type { KeyRecord, OperationAnswer } from "../../../admin-api/index.ts";
import { parseDuration } from "../../../base/index.ts";
import { mintKey } from "../../auth/index.ts";
import { commands, type KeyRow, keyRowKey, readKey } from "../../core/state/index.ts";
import { type Handlers, mapRows, NO_CONTENT, rfc3339 } from "../handler-types.ts";
import { issueCommand } from "../issue-command.ts";
import { requireProfile } from "../known-names.ts";
import { type ListSource, storedValues, tablesVersion } from "../lists.ts";
import type { Ports } from "../ports.ts";
import { refusal } from "../refusal.ts";
import { TABLE_PREFIX } from "../state-prefixes.ts";
import { isSuspended } from "./suspensions.ts";

/** Returns the list of keys. It also changes with suspensions, which affect a key's status, but not when a key expires. */
export function keyList(ports: Ports): ListSource<KeyRecord> {
  const { view } = ports.cluster;
  return {
    ...tablesVersion(view, TABLE_PREFIX.keys, TABLE_PREFIX.suspensions),
    // Stored texts are collected first, because the state may change before the last row is written.
    async take() {
      const stored = await storedValues(view, TABLE_PREFIX.keys);
      return (now) => mapRows(stored, (value) => keyRecord(ports, readKey(value), now));
    },
    page({ after, limit }) {
      const stored: string[] = [];
      for (const [, value] of view.scan(TABLE_PREFIX.keys, after === undefined ? undefined : keyRowKey(after))) {
        if (stored.push(value) === limit) break;
      }
      return (now) => mapRows(stored, (value) => keyRecord(ports, readKey(value), now));
    },
  };
}

function keyRecord({ cluster, facts }: Ports, row: KeyRow, now: number): KeyRecord {
  const { id, name, profile, metadata } = row;
  const lastUsedAt = facts.keyLastUsedAt(id);
  const isExpired = row.expires_at !== null && row.expires_at <= now;
  return {
    id,
    name,
    profile,
    metadata,
    created_at: rfc3339(row.created_at),
    expires_at: row.expires_at === null ? null : rfc3339(row.expires_at),
    last_used_at: lastUsedAt === undefined ? null : rfc3339(lastUsedAt),
    status: isExpired ? "expired" : isSuspended(cluster.view, "key", name, now) ? "suspended" : "active",
  };
}

function findKey(ports: Ports, name: string): KeyRecord {
  const value = ports.cluster.view.get(keyRowKey(name));
  if (value === undefined) throw refusal("not_found", `There is no key named ${name}.`);
  return keyRecord(ports, readKey(value), ports.clock.now());
}

/** Returns the key after a change; the change took effect, even if the key was deleted since. */
function keyAfterChange(ports: Ports, name: string): KeyRecord {
  const value = ports.cluster.view.get(keyRowKey(name));
  if (value !== undefined) return keyRecord(ports, readKey(value), ports.clock.now());
  throw refusal("conflict", `The key ${name} was deleted at the same time.`, { outcome: "done" });
}

/** Returns whole milliseconds; a schema has validated the text. */
const lifetimeMs = (text: string): number => Math.floor(parseDuration(text) ?? 0);

/**
 * Returns the answer that shows a new text. A repeated request gets the result of the first one, recognized by the id; the text
 * that was minted for the repetition is useless and not shown.
 */
function mintedReply(record: KeyRecord, result: unknown, { id, text }: { readonly id: string; readonly text: string }) {
  const made = result as { readonly id: string };
  const value: OperationAnswer<"create_key"> = made.id === id ? { ...record, key: text } : record;
  return { value };
}

export const keyHandlers: Pick<Handlers, "create_key" | "get_key" | "update_key" | "delete_key" | "rotate_key"> = {
  async create_key({ body, write }, ports) {
    const key = mintKey(ports.randomBytes);
    const { name, profile = null, metadata = {}, expires_in } = body;
    if (profile !== null) requireProfile(ports, profile);
    const result = await issueCommand(
      ports,
      commands.keyCreate({
        id: key.id,
        name,
        profile,
        metadata,
        digest: key.digest,
        expires_in_ms: expires_in === undefined ? null : lifetimeMs(expires_in),
      }),
      write,
    );
    return mintedReply(keyAfterChange(ports, name), result, key);
  },
  get_key({ params }, ports) {
    return { value: findKey(ports, params.name) };
  },
  async update_key({ params: { name }, body, write }, ports) {
    const { profile, metadata, expires_in } = body;
    if (typeof profile === "string") requireProfile(ports, profile);
    await issueCommand(
      ports,
      commands.keyPatch({
        name,
        ...(profile !== undefined && { profile }),
        ...(metadata !== undefined && { metadata }),
        ...(expires_in !== undefined && { expires_in_ms: expires_in === null ? null : lifetimeMs(expires_in) }),
      }),
      write,
    );
    return { value: keyAfterChange(ports, name) };
  },
  async delete_key({ params: { name }, write }, ports) {
    await issueCommand(ports, commands.keyDelete({ name }), write);
    return NO_CONTENT;
  },
  async rotate_key({ params: { name }, write }, ports) {
    const key = mintKey(ports.randomBytes);
    const result = await issueCommand(ports, commands.keyRotate({ name, id: key.id, digest: key.digest }), write);
    return mintedReply(keyAfterChange(ports, name), result, key);
  },
};
