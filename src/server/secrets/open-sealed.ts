/**
 * Opens sealed secrets from the replicated rows. A bounded number of unwrapped data keys is cached in memory; values are never
 * cached.
 *
 * A node that lacks a key-encryption key starts, serves what needs no secret, and reports which keys it lacks. No message
 * contains a value or a key.
 */

import { FifoMap } from "../../base/index.ts";
import { ringRowKey } from "../core/state/index.ts";
import { type DataKey, type Sealing, unwrap } from "./keyring.ts";
import { open, type SealedKind } from "./seal.ts";
import { findSealedValue, parseRing, ringRow, ringRows, type SealedValue } from "./sealed-rows.ts";

export type OpenedSecret =
  | { readonly kind: "value"; readonly value: string }
  /** `missing`: the secret does not exist; other problems concern a secret that exists. */
  | { readonly kind: "problem"; readonly message: string; readonly missing: boolean };

interface SealedStatus {
  /** Whether a data key cannot be opened here. */
  readonly sealed: boolean;
  /** Ids of the key-encryption keys that this node would need, one of which is enough for each data key. */
  readonly missing: readonly string[];
  /** Ids of data keys whose wraps were changed, or belong to another cluster. */
  readonly damaged: readonly string[];
}

export interface SealedSecrets {
  secret(name: string): OpenedSecret;
  /** Opens the data listener's certificate (`cert/`) or an ACME account (`acme/`). */
  tlsSecret(kind: "cert" | "acme", id: string): OpenedSecret;
  status(): SealedStatus;
  /** Returns the id of the key whose wrap of the data key this node can open; empty if it can open none. */
  wrappedBy(dataKey: string): string;
  /** Returns whether this node could open the data key of a row `ring/…` that is not in the view, such as an archive's. */
  canOpenRing(row: string): boolean;
}

/** Maximum cached data keys. A ring grows by one key in 90 days; beyond this the oldest is unwrapped again. */
const MAX_CACHED_KEYS = 64;

export function createSealedSecrets(sealing: Sealing): SealedSecrets {
  const { view, clusters } = sealing;
  const cache = new FifoMap<string, { readonly row: string; readonly key: DataKey }>(MAX_CACHED_KEYS);

  /** Returns the unwrapped data key. A row that a rewrap changed is unwrapped again. */
  function dataKey(id: string): DataKey | undefined {
    const row = view.get(ringRowKey(id));
    const cached = cache.get(id);
    if (cached !== undefined && cached.row === row) return cached.key;
    const ring = ringRow(view, id);
    if (row === undefined || ring === undefined) return undefined;
    const key = unwrap(ring, sealing);
    cache.delete(id);
    cache.set(id, { row, key });
    return key;
  }

  function openRow(kind: SealedKind, name: string): OpenedSecret {
    const noun = NOUNS[kind];
    const row = findSealedValue(view, kind, name);
    if (row === undefined) return problem(`there is no ${noun} ${JSON.stringify(name)}`, true);
    const what = `the ${noun} ${JSON.stringify(name)} cannot be opened on this node`;
    const { dk } = row.sealed;
    const found = dataKey(dk);
    if (found === undefined) return problem(`${what}: its data key ${dk} is not there`);
    if (found.kind === "damaged") return problem(`${what}: its data key ${dk} was changed or is of another cluster`);
    if (found.kind === "locked") {
      return problem(
        `${what}: its data key ${dk} is wrapped by ${found.wrappedBy.join(" and ")}, which this node does not have; see cluster.secret and cluster.kek_file`,
      );
    }
    const value = openValue(row, found.key, clusters);
    if (value === undefined) {
      return problem(`${what}: it was changed, or sealed under another name, version or cluster`);
    }
    return { kind: "value", value: value.value };
  }

  return {
    secret: (name) => openRow("secret", name),
    tlsSecret: openRow,
    status() {
      const keys = ringRows(view).map(({ id }) => ({ id, key: dataKey(id) }));
      const missing = keys.flatMap(({ key }) => (key?.kind === "locked" ? key.wrappedBy : []));
      const damaged = keys.flatMap(({ id, key }) => (key?.kind === "damaged" ? [id] : []));
      return { sealed: keys.some(({ key }) => key?.kind !== "key"), missing: [...new Set(missing)].sort(), damaged };
    },
    wrappedBy(id) {
      const key = dataKey(id);
      return key?.kind === "key" ? key.kek : "";
    },
    canOpenRing(text) {
      const ring = parseRing(text);
      return ring !== undefined && unwrap(ring, sealing).kind === "key";
    },
  };
}

const NOUNS: Readonly<Record<SealedKind, string>> = {
  secret: "sealed secret",
  cert: "sealed certificate",
  acme: "sealed ACME account",
};

/** Returns the value and the cluster id that it is bound to; `undefined` if the key does not open it. */
export function openValue(
  { k, name, ver, sealed: { dk, n, ct } }: SealedValue,
  key: Uint8Array,
  clusters: readonly string[],
): { readonly value: string; readonly cluster: string } | undefined {
  for (const cluster of clusters) {
    const plain = open(key, { n, ct }, { k, cluster, name, ver, dk });
    if (plain !== undefined) return { value: plain.toString("utf8"), cluster };
  }
  return undefined;
}

function problem(message: string, missing = false): OpenedSecret {
  return { kind: "problem", message, missing };
}
