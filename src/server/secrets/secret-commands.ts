/**
 * Creates the commands that change sealed secrets. The node that receives a request seals its values, so that no log, snapshot or
 * forwarded write ever contains one. Source: cluster reference, section 8.
 *
 * The commands of a plan are proposed in order, up to the first that is refused. Each one compares the state with what this plan
 * read (`expect`, ids that must be new), so that a concurrent plan is refused and planned again.
 */

import { commands, type NamedCommand, type Sealed } from "../core/state/index.ts";
import { activeRing, newDataKey, type Sealing, unexpiredActiveRing, unwrap, wrap } from "./keyring.ts";
import { openValue } from "./open-sealed.ts";
import { type SealedKind, seal } from "./seal.ts";
import { allSealedValues, findSealedValue, ringRow, ringRows, type SealedValue } from "./sealed-rows.ts";

export type SecretPlan =
  | { readonly kind: "planned"; readonly commands: readonly NamedCommand[] }
  /** `sealed`: this node lacks a key-encryption key; another node may have it. */
  | { readonly kind: "refused"; readonly code: "invalid" | "not_found" | "sealed"; readonly message: string };

/** Valid file names that are short enough for a row's key. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

/** Maximum size, the same as of a secret file, in bytes. */
const MAX_VALUE_BYTES = 64 * 1024;

const planned = (list: readonly NamedCommand[]): SecretPlan => ({ kind: "planned", commands: list });

const refused = (code: "invalid" | "not_found" | "sealed", message: string): SecretPlan => ({
  kind: "refused",
  code,
  message,
});

/** Plans storing a secret. `now`: milliseconds since 1970. */
export function planPutSecret(name: string, value: string, sealing: Sealing, now: number): SecretPlan {
  if (!NAME.test(name))
    return refused(
      "invalid",
      "the name of a secret is 1 to 128 letters, digits, `_`, `.` and `-`, the first a letter or digit",
    );
  if (value === "") return refused("invalid", "the value of a secret must not be empty");
  if (!value.isWellFormed() || Buffer.byteLength(value) > MAX_VALUE_BYTES) {
    return refused("invalid", `the value of a secret is well-formed text of at most ${MAX_VALUE_BYTES} bytes`);
  }
  const key = keyForSealing(sealing, now);
  if (key.kind === "refused") return key;
  const expect = findSealedValue(sealing.view, "secret", name)?.ver ?? null;
  const sealed = sealValue({ k: "secret", name, ver: (expect ?? 0) + 1 }, value, key, sealing);
  return planned([...key.commands, commands.secretPut({ name, expect, sealed })]);
}

/** Plans storing the data listener's certificate in place of version `expect`. */
export function planPutCertificate(
  row: {
    readonly id: string;
    readonly expect: number | null;
    readonly names: readonly string[];
    /** Expiry, in milliseconds since 1970. */
    readonly notAfter: number | null;
    readonly value: string;
  },
  sealing: Sealing,
  now: number,
): SecretPlan {
  const { id, expect, names, notAfter, value } = row;
  return planPutTlsSecret({ k: "cert", name: id, expect, value }, sealing, now, (sealed) =>
    commands.certPut({ id, expect, names, not_after: notAfter, sealed }),
  );
}

/** Plans storing an ACME account in place of version `expect`. */
export function planPutAccount(
  { id, expect, value }: { readonly id: string; readonly expect: number | null; readonly value: string },
  sealing: Sealing,
  now: number,
): SecretPlan {
  return planPutTlsSecret({ k: "acme", name: id, expect, value }, sealing, now, (sealed) =>
    commands.acmePut({ id, expect, sealed }),
  );
}

/** Maximum size of a value, in bytes. Its row is larger by base64 and the tag. */
const MAX_TLS_SECRET_BYTES = 190_000;

function planPutTlsSecret(
  it: { readonly k: SealedKind; readonly name: string; readonly expect: number | null; readonly value: string },
  sealing: Sealing,
  now: number,
  command: (sealed: Sealed) => NamedCommand,
): SecretPlan {
  const { k, name, expect, value } = it;
  if (Buffer.byteLength(value) > MAX_TLS_SECRET_BYTES)
    return refused("invalid", "the sealed value is too large to store");
  const key = keyForSealing(sealing, now);
  if (key.kind === "refused") return key;
  return planned([...key.commands, command(sealValue({ k, name, ver: (expect ?? 0) + 1 }, value, key, sealing))]);
}

export const planDeleteSecret = (name: string, { view }: Pick<Sealing, "view">): SecretPlan =>
  findSealedValue(view, "secret", name) === undefined
    ? refused("not_found", "there is no such secret")
    : planned([commands.secretDelete({ name })]);

/**
 * Plans to wrap every data key only by the current key-encryption key, and to reseal values that are bound to an earlier cluster
 * id. `keep`: ids of keys whose wraps stay, for members that do not have the current one yet.
 */
export function planRewrap(sealing: Sealing, keep: readonly string[] = []): SecretPlan {
  const { keks, clusters, view } = sealing;
  const locked = lockedProblem(sealing);
  if (locked !== undefined) return locked;
  const rewrapped = ringRows(view).flatMap((ring): readonly NamedCommand[] => {
    const key = unwrap(ring, sealing);
    if (key.kind !== "key") return [];
    const kept = ring.wraps.filter(({ kek }) => kek !== keks.current.id && keep.includes(kek));
    const isCurrent = key.kek === keks.current.id && key.cluster === clusters[0];
    if (isCurrent && ring.wraps.length === kept.length + 1) return [];
    const wraps = [wrap(ring.id, key.key, keks.current, clusters[0]), ...kept];
    return [commands.ringRewrap({ id: ring.id, wraps })];
  });
  return planned([...rewrapped, ...resealCommands(sealing)]);
}

/**
 * Returns commands that reseal values of an earlier cluster id under the active data key, the only one that seals. Values that
 * cannot be opened here stay unchanged.
 */
function resealCommands(sealing: Sealing): readonly NamedCommand[] {
  const { view, clusters } = sealing;
  const active = activeRing(view);
  if (active === undefined) return [];
  const to = unwrap(active, sealing);
  if (to.kind !== "key") return [];
  return allSealedValues(view).flatMap((row): readonly NamedCommand[] => {
    const from = ringRow(view, row.sealed.dk);
    const key = from && unwrap(from, sealing);
    const opened = key?.kind === "key" ? openValue(row, key.key, clusters) : undefined;
    if (opened === undefined || opened.cluster === clusters[0]) return [];
    const { k, name, resealedAs: ver } = row;
    return [row.reseal(sealValue({ k, name, ver }, opened.value, { id: active.id, key: to.key }, sealing))];
  });
}

interface SealingKey {
  readonly kind: "key";
  readonly id: string;
  readonly key: Uint8Array;
  /** Commands to propose before the key may be used. */
  readonly commands: readonly NamedCommand[];
}

function keyForSealing(sealing: Sealing, now: number): SealingKey | Extract<SecretPlan, { kind: "refused" }> {
  const active = unexpiredActiveRing(sealing.view, now);
  const key = active && unwrap(active, sealing);
  if (active !== undefined && key?.kind === "key") return { kind: "key", id: active.id, key: key.key, commands: [] };
  // If this node cannot open a data key, it lacks a key-encryption key of the others, and would wrap a new data key with too few.
  return lockedProblem(sealing) ?? createSealingKey(sealing, now);
}

function lockedProblem(sealing: Sealing): Extract<SecretPlan, { kind: "refused" }> | undefined {
  for (const ring of ringRows(sealing.view)) {
    const key = unwrap(ring, sealing);
    if (key.kind === "key") continue;
    const reason =
      key.kind === "locked"
        ? `it is wrapped by ${key.wrappedBy.join(" and ")}, which this node does not have; see cluster.secret and cluster.kek_file`
        : "its row was changed or is of another cluster";
    return {
      kind: "refused",
      code: "sealed",
      message: `the data key ${ring.id} cannot be opened on this node: ${reason}`,
    };
  }
  return undefined;
}

function createSealingKey(sealing: Sealing, now: number): SealingKey {
  const { key, added } = newDataKey(sealing, now);
  const needed = [commands.ringAdd(added), commands.ringActivate({ id: added.id })];
  return { kind: "key", id: added.id, key, commands: needed };
}

function sealValue(
  { k, name, ver }: Pick<SealedValue, "k" | "name" | "ver">,
  value: string,
  { id: dk, key }: { readonly id: string; readonly key: Uint8Array },
  { clusters: [cluster] }: Sealing,
): Sealed {
  return { dk, ...seal(key, Buffer.from(value, "utf8"), { k, cluster, name, ver, dk }) };
}
