/** Inputs of a node's configuration beside its text, and whether they changed. */
import type { Log } from "../../../base/index.ts";
import type { Cluster } from "../../cluster/index.ts";
import type { NodeFile } from "../../core/config/index.ts";
import { readSource, sourceRowKey } from "../../core/state/index.ts";
import { trustedSettingsOf } from "./compile-sources.ts";
import type { NodeDocuments } from "./load-documents.ts";

/** Returns the inputs that a compile takes from this machine's files, except secrets. */
export function machineInputsOf({ secretsDir, overlays, variables, nodeFile }: NodeDocuments): string {
  const { issuers, adminAudiences = [] } = nodeFile === undefined ? {} : trustedSettingsOf(nodeFile);
  return JSON.stringify([
    secretsDir,
    overlays,
    [...variables],
    issuers,
    [...adminAudiences].map(([name, them]) => [name, [...them]]),
  ]);
}

/**
 * Returns the number of revisions of all sources. Each change of the stored sources makes one, deletions too, and the newest of
 * each name is kept, so that every node has the same count and it only rises.
 */
export function limitRevision(view: Pick<Cluster["view"], "scan">): number {
  const newest = new Map<string, number>();
  // Keys have the form `hist/<name>/<revision>`, in order.
  for (const [key] of view.scan("hist/")) {
    const end = key.lastIndexOf("/");
    newest.set(key.slice(0, end), Number(key.slice(end + 1)));
  }
  return [...newest.values()].reduce((sum, revision) => sum + revision, 0);
}

/** Returns whether the reconciliation ledger has rows; they are kept when `reconcile` is removed. */
export function hasReconciled(view: Pick<Cluster["view"], "scan">): boolean {
  for (const _ of view.scan("rec/")) return true;
  return false;
}

/** Returns when a source was stored, in milliseconds since 1970; the same on all nodes. */
export const storedAt =
  (view: Pick<Cluster["view"], "get">) =>
  (source: string): number | undefined => {
    const row = view.get(sourceRowKey(source));
    return row === undefined ? undefined : readSource(row).at;
  };

/** Node-file keys that a running process can change (design decisions, section 5). */
const RELOADABLE: ReadonlySet<string> = new Set(["issuers", "secrets_dir", "catalog_overlay_paths", "deployment"]);

/** Warns of each changed key of the node file that takes effect only after a restart. */
export function warnOfRestarts(before: NodeFile, after: NodeFile, log: Log): void {
  for (const key of changedKeys(before, after)) {
    if (!RELOADABLE.has(key)) log.warn("a change of the node file needs a restart", { key, ...restartNote(key) });
  }
}

type Keys = Readonly<Record<string, unknown>>;

/** Returns the changed keys of the node file; for `tls` its subkeys, such as `tls.email`. */
function changedKeys(before: NodeFile, after: NodeFile): readonly string[] {
  return changedIn({ ...before }, { ...after }).flatMap((key) =>
    key === "tls" ? changedIn(before.tls ?? {}, after.tls ?? {}).map((subkey) => `tls.${subkey}`) : [key],
  );
}

function changedIn(before: Keys, after: Keys): readonly string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
}

/** Returns a note about keys for which a restart alone is not enough. Source: specification document 2, `tls.eab`. */
const restartNote = (key: string): { readonly note?: string } =>
  key === "tls.eab"
    ? { note: "an existing ACME account keeps its binding; another tls.email creates a new account" }
    : {};
