/** Sealed secrets and the ring of data keys. A value is sealed together with its version and the id of its data key. */

import { define, type Site } from "../command.ts";
import { ok, refused } from "../command-refusals.ts";
import { choice, identifier, integer, nullable, object } from "../fields.ts";
import {
  dataKeyId,
  isDataKeyUsed,
  type RingRow,
  ringRowKey,
  ringRows,
  sealed,
  sealObstacle,
  secretRowKey,
  secretRows,
  wraps,
} from "./sealed.ts";

/**
 * Writes a secret. `expect` is the version to replace, null if there must be none. The value is sealed for the version after it.
 */
export const secretPut = define(
  "secret.put",
  object({ name: identifier, expect: nullable(integer(1)), sealed }),
  ({ name, expect, sealed: { dk, n, ct } }, { draft, now, by }) => {
    const value = draft.get(secretRowKey(name));
    const before = value === undefined ? null : secretRows.read(value).ver;
    if (before !== expect) return refused("stale");
    const obstacle = sealObstacle(draft, dk);
    if (obstacle !== undefined) return refused(obstacle);
    const ver = (before ?? 0) + 1;
    draft.put(secretRowKey(name), secretRows.write({ name, ver, dk, n, ct, by, at: now }));
    return ok({ version: ver });
  },
);

export const secretDelete = define("secret.delete", object({ name: identifier }), ({ name }, { draft }) => {
  if (draft.get(secretRowKey(name)) === undefined) return refused("not_found");
  draft.delete(secretRowKey(name));
  return ok();
});

/** Replaces the sealed form of a value by one under another data key; the version stays. */
export const secretReseal = define(
  "secret.reseal",
  object({ name: identifier, ver: integer(1), sealed }),
  ({ name, ver, sealed: { dk, n, ct } }, { draft }) => {
    const value = draft.get(secretRowKey(name));
    if (value === undefined) return refused("not_found");
    const before = secretRows.read(value);
    if (before.ver !== ver) return refused("stale");
    const obstacle = sealObstacle(draft, dk);
    if (obstacle !== undefined) return refused(obstacle);
    draft.put(secretRowKey(name), secretRows.write({ ...before, dk, n, ct }));
    return ok({ version: ver });
  },
);

const ringRow = ({ draft }: Site, id: string): RingRow | undefined => {
  const value = draft.get(ringRowKey(id));
  return value === undefined ? undefined : ringRows.read(value);
};

/** Adds a data key. The first one is active at once; a later one is activated by `ring.activate`. */
export const ringAdd = define(
  "ring.add",
  object({ id: dataKeyId, alg: choice(["A256GCM"]), wraps, created: integer() }),
  (params, { draft }) => {
    if (draft.get(ringRowKey(params.id)) !== undefined) return refused("exists");
    const isFirst = Array.from(draft.scan("ring/")).length === 0;
    const state = isFirst ? "active" : "retired";
    draft.put(ringRowKey(params.id), ringRows.write({ ...params, state }));
    return ok({ state });
  },
);

export const ringActivate = define("ring.activate", object({ id: dataKeyId }), ({ id }, site) => {
  if (ringRow(site, id) === undefined) return refused("not_found");
  for (const [key, value] of site.draft.scan("ring/")) {
    const row = ringRows.read(value);
    site.draft.put(key, ringRows.write({ ...row, state: row.id === id ? "active" : "retired" }));
  }
  return ok();
});

/** Replaces the wrapped forms of a data key by those under other keys. */
export const ringRewrap = define("ring.rewrap", object({ id: dataKeyId, wraps }), (params, site) => {
  const row = ringRow(site, params.id);
  if (row === undefined) return refused("not_found");
  site.draft.put(ringRowKey(row.id), ringRows.write({ ...row, wraps: params.wraps }));
  return ok();
});

export const ringDrop = define("ring.drop", object({ id: dataKeyId }), ({ id }, site) => {
  const row = ringRow(site, id);
  if (row === undefined) return refused("not_found");
  if (row.state === "active" || isDataKeyUsed(site.draft, id)) return refused("in_use");
  site.draft.delete(ringRowKey(id));
  return ok();
});
