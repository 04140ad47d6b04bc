/**
 * Witnessed heads of the nodes' audit chains: rows `head/<node>/<kid>` contain the highest record of each chain that the cluster
 * has seen, `head/<node>/conflict` evidence that a chain was forked. Source: cluster reference, 9.3.
 */

import { define, type Site } from "../command.ts";
import { ok } from "../command-refusals.ts";
import { integer, label, nullable, object, optional, text } from "../fields.ts";
import type { Draft } from "../mutation-draft.ts";
import { keyPart, rowFormat } from "../row-format.ts";

/** Maximum number of chains per node: a key that exists only in memory begins a new chain at each start. */
const KEPT_CHAINS = 64;

const record = {
  /** RFC 7638 thumbprint of the chain's key. */
  kid: text(/^[A-Za-z0-9_-]{16,128}$/, 128),
  seq: integer(),
  /** SHA-256 of the record, base64url. */
  hash: text(/^[A-Za-z0-9_-]{43}$/, 43),
};
const seen = object({ node: label(), ...record, at: integer() });
export type HeadRow = ReturnType<typeof seen>;
export const headRows = rowFormat(seen);
export const headsOf = (node: string): string => `head/${keyPart(node)}/`;
export const headRowKey = (node: string, kid: string): string => `${headsOf(node)}${kid}`;

const conflict = object({
  node: label(),
  /** Number of conflicts. Only the first is kept, since it is the closest to the fork. */
  count: integer(1),
  witnessed: seen,
  shown: seen,
});
export const headConflictRows = rowFormat(conflict);
/** Returns the key of a conflict row. It is shorter than any key id, so it cannot collide with one. */
export const headConflictKey = (node: string): string => `${headsOf(node)}conflict`;

/**
 * Records a witnessed head. `succeeds` is the head that the first record of a new chain names as its predecessor. A new chain
 * that names the newest witnessed head continues it. One that does not, and begins lower, hides records.
 */
export const auditWitness = define(
  "audit.witness",
  object({ node: label(), ...record, succeeds: optional(nullable(object(record))) }),
  ({ succeeds, ...shown }, site) => {
    const row: HeadRow = { ...shown, at: site.now };
    const chains = Array.from(site.draft.scan(headsOf(shown.node)))
      .filter(([key]) => key !== headConflictKey(shown.node))
      .map(([, value]) => headRows.read(value));
    const own = chains.find(({ kid }) => kid === shown.kid);
    if (own !== undefined) {
      if (shown.seq < own.seq) return ok({ outcome: "older" });
      if (shown.seq === own.seq) {
        return shown.hash === own.hash ? ok({ outcome: "known" }) : recordConflict(site, own, row);
      }
      site.draft.put(headRowKey(row.node, row.kid), headRows.write(row));
      return ok({ outcome: "witnessed" });
    }

    const newest = chains.reduce<HeadRow | undefined>((a, b) => (a === undefined || b.at > a.at ? b : a), undefined);
    const goesOn =
      newest === undefined ||
      shown.seq > newest.seq ||
      (succeeds?.kid === newest.kid && succeeds.seq === newest.seq && succeeds.hash === newest.hash);
    site.draft.put(headRowKey(row.node, row.kid), headRows.write(row));
    const oldest = chains.toSorted((a, b) => a.at - b.at || (a.kid < b.kid ? -1 : 1));
    for (const { kid } of oldest.slice(0, Math.max(0, chains.length + 1 - KEPT_CHAINS))) {
      site.draft.delete(headRowKey(row.node, kid));
    }
    return goesOn ? ok({ outcome: "witnessed" }) : recordConflict(site, newest, row);
  },
);

/**
 * Keeps witnessed heads in a restore. Otherwise a chain that is being written would look like a fork of the one in the archive,
 * and a person with an old archive could hide how far a chain had come.
 */
export function keepWitnessed(archived: Draft, current: Pick<Draft, "scan">): void {
  for (const [key, value] of current.scan("head/")) {
    const known = archived.get(key);
    if (known === undefined) archived.put(key, value);
    else if (!key.endsWith("/conflict")) {
      const [there, here] = [headRows.read(known), headRows.read(value)];
      if (here.seq > there.seq) archived.put(key, value);
      else if (here.seq === there.seq && here.hash !== there.hash) recordConflict({ draft: archived }, there, here);
    }
  }
}

function recordConflict({ draft }: Pick<Site, "draft">, witnessed: HeadRow, shown: HeadRow) {
  const key = headConflictKey(shown.node);
  const value = draft.get(key);
  const before = value === undefined ? { node: shown.node, count: 0, witnessed, shown } : headConflictRows.read(value);
  draft.put(key, headConflictRows.write({ ...before, count: before.count + 1 }));
  return ok({ outcome: "conflict" });
}
