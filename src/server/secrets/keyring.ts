/**
 * Data keys of sealed secrets: created by the proposing node, replicated only wrapped, and opened by any node that has a
 * key-encryption key of one of their wraps. Source: cluster reference, section 8.
 */

import { randomBytes } from "node:crypto";
import type { Kek, Keks } from "./kek.ts";
import { open, seal } from "./seal.ts";
import { allSealedValues, type RingRow, ringRows, type SealedView, type Wrap } from "./sealed-rows.ts";

/** State and keys for opening and sealing on this node. */
export interface Sealing {
  readonly view: SealedView;
  readonly keks: Keks;
  /** Cluster ids that rows may be bound to: the current one first, then those before a change of the cluster's secret. */
  readonly clusters: readonly [string, ...string[]];
}

export type DataKey =
  /** `kek`: id of the key that opened the wrap. `cluster`: id that the wrap is bound to. */
  | { readonly kind: "key"; readonly key: Uint8Array; readonly kek: string; readonly cluster: string }
  /** This node has none of the keys in `wrappedBy`. */
  | { readonly kind: "locked"; readonly wrappedBy: readonly string[] }
  /** The right key does not open it: the row was changed, or belongs to another cluster. */
  | { readonly kind: "damaged" };

const KEY_BYTES = 32;

/** Decrypts a data key with the first of this node's keys that fits one of its wraps. */
export function unwrap({ id, wraps }: RingRow, { keks, clusters }: Pick<Sealing, "keks" | "clusters">): DataKey {
  let isKnown = false;
  for (const kek of keks.all) {
    for (const wrap of wraps.filter((it) => it.kek === kek.id)) {
      isKnown = true;
      for (const cluster of clusters) {
        const key = open(kek.key, wrap, { k: "ring", cluster, dk: id, kek: kek.id });
        if (key?.length === KEY_BYTES) return { kind: "key", key, kek: kek.id, cluster };
      }
    }
  }
  return isKnown ? { kind: "damaged" } : { kind: "locked", wrappedBy: wraps.map(({ kek }) => kek) };
}

/** Encrypts a data key with a key-encryption key. */
export function wrap(id: string, key: Uint8Array, kek: Kek, cluster: string): Wrap {
  return { kek: kek.id, ...seal(kek.key, key, { k: "ring", cluster, dk: id, kek: kek.id }) };
}

/** Fields of the command `ring.add`, and the key that only this process knows unwrapped. */
interface NewDataKey {
  readonly key: Uint8Array;
  readonly added: {
    readonly id: string;
    readonly alg: "A256GCM";
    readonly created: number;
    readonly wraps: readonly Wrap[];
  };
}

/** Creates the next data key. `now`: milliseconds since 1970. */
export function newDataKey({ view, keks, clusters }: Sealing, now: number): NewDataKey {
  const numbers = ringRows(view).map(({ id }) => Number(/^dk-(\d{1,15})$/.exec(id)?.[1] ?? 0));
  const id = `dk-${Math.max(0, ...numbers) + 1}`;
  const key = randomBytes(KEY_BYTES);
  return { key, added: { id, alg: "A256GCM", created: now, wraps: [wrap(id, key, keks.current, clusters[0])] } };
}

const MAX_SEALS = 2 ** 20;
const MAX_AGE_MS = 90 * 24 * 60 * 60 * 1000;

/** Returns the data key that seals. The state machine ensures that there is only one. */
export const activeRing = (view: SealedView): RingRow | undefined =>
  ringRows(view).find(({ state }) => state === "active");

/**
 * Same as `activeRing`, but `undefined` if a new key is due. Seals are counted by the versions of values under the key, so
 * deleted values do not count; random nonces are safe for 4,096 times the limit.
 */
export function unexpiredActiveRing(view: SealedView, now: number): RingRow | undefined {
  const active = activeRing(view);
  if (active === undefined || now - active.created >= MAX_AGE_MS) return undefined;
  const seals = allSealedValues(view).reduce((sum, { sealed, ver }) => sum + (sealed.dk === active.id ? ver : 0), 0);
  return seals >= MAX_SEALS ? undefined : active;
}
