/** All kinds of rows by key prefix, for checking rows from outside, such as those of an archive. */

import { idempotencyRows, resultRows, sessionHeads } from "./client-sessions.ts";
import { acknowledgementRowKey, acknowledgementRows } from "./commands/acknowledgements.ts";
import { headConflictKey, headConflictRows, headRowKey, headRows } from "./commands/audit.ts";
import { blobHeads, blobParts } from "./commands/blobs.ts";
import { featureRowKey, levelRows } from "./commands/feature.ts";
import { keyIdRowKey, keyIdRows, keyRowKey, keyRows } from "./commands/keys.ts";
import { memberRowKey, memberRows } from "./commands/member-rows.ts";
import { ledgerRowKey, ledgerRows } from "./commands/reconcile.ts";
import {
  acmeRowKey,
  acmeRows,
  certificateRowKey,
  certificateRows,
  ringRowKey,
  ringRows,
  secretRowKey,
  secretRows,
} from "./commands/sealed.ts";
import {
  deployModeKey,
  deployModeRows,
  revisionRowKey,
  revisionRows,
  sourceRowKey,
  sourceRows,
} from "./commands/source-rows.ts";
import { suspensionRowKey, suspensionRows } from "./commands/suspensions.ts";
import { holdingRowKey, holdingRows, usageRowKey, usageRows } from "./commands/usage-rows.ts";
import {
  meteredRowKey,
  meteredRows,
  sequenceRows,
  usedChunkRowKey,
  usedChunkRows,
  usedNamesRowKey,
  usedNamesRows,
} from "./commands/used-rows.ts";
import { Malformed, type Shape } from "./fields.ts";
import type { RowFormat } from "./row-format.ts";

interface Table {
  /** Returns whether the value is a row of the table under its correct key. */
  fits(key: string, value: string): boolean;
  shape(): Shape;
}

const table = <T>(format: RowFormat<T>, keyOf: (row: T) => string): Table => ({
  fits: (key, value) => key === keyOf(format.read(value)),
  shape: format.shape,
});

/** Returns a table with two kinds of rows: those whose key ends with `ending`, and the others. */
const either = (ending: string, those: Table, others: Table): Table => ({
  fits: (key, value) => (key.endsWith(ending) ? those : others).fits(key, value),
  shape: () => ({ [`…${ending}`]: those.shape(), others: others.shape() }),
});

const head = table(headRows, (row) => headRowKey(row.node, row.kid));
const headConflict = table(headConflictRows, (row) => headConflictKey(row.node));

const usedChunk = table(usedChunkRows, usedChunkRowKey);
const usedNames = table(usedNamesRows, usedNamesRowKey);

const TABLES: Readonly<Record<string, Table>> = {
  ack: table(acknowledgementRows, (row) => acknowledgementRowKey(row.name)),
  acme: table(acmeRows, (row) => acmeRowKey(row.id)),
  alloc: table(holdingRows, (row) => holdingRowKey(row.node, row)),
  cert: table(certificateRows, (row) => certificateRowKey(row.id)),
  deploy: table(deployModeRows, () => deployModeKey),
  feat: table(levelRows, () => featureRowKey),
  head: either("/conflict", headConflict, head),
  hist: table(revisionRows, (row) => revisionRowKey(row.name, row.revision)),
  key: table(keyRows, (row) => keyRowKey(row.name)),
  keyid: {
    fits: (key, value) => /^keyid\/[0-9A-Za-z]+$/.test(key) && keyIdRows.read(value) !== "",
    shape: keyIdRows.shape,
  },
  member: table(memberRows, (row) => memberRowKey(row.id)),
  met: table(meteredRows, meteredRowKey),
  rec: table(ledgerRows, ledgerRowKey),
  ring: table(ringRows, (row) => ringRowKey(row.id)),
  secret: table(secretRows, (row) => secretRowKey(row.name)),
  source: table(sourceRows, (row) => sourceRowKey(row.name)),
  susp: table(suspensionRows, (row) => suspensionRowKey(row.kind, row.name)),
  usage: table(usageRows, usageRowKey),
  used: either("/names", usedNames, usedChunk),
};

/** Tables that belong to running processes; a restore drops them. */
const PASSING: Readonly<Record<string, () => Shape>> = {
  blob: () => ({ "<sha256>": blobHeads.shape(), "<sha256>/<part>": blobParts.shape() }),
  idem: idempotencyRows.shape,
  reported: sequenceRows.shape,
  sess: () => ({ "<client>": sessionHeads.shape(), "<client>/<seq>": resultRows.shape() }),
};

const tableName = (key: string): string => key.slice(0, Math.max(0, key.indexOf("/")));

/** Row that the cluster secret protects: a data key, or a value with the data key that sealed it. */
export type SealedRow =
  | { readonly kind: "ring"; readonly name: string }
  | { readonly kind: "secret" | "cert" | "acme"; readonly name: string; readonly dataKey: string };

/** Reads a row that needs the cluster secret; `undefined` for every other row. Throws if the row is malformed. */
export function sealedRow(key: string, value: string): SealedRow | undefined {
  switch (tableName(key)) {
    case "ring":
      return { kind: "ring", name: ringRows.read(value).id };
    case "secret": {
      const { name, dk } = secretRows.read(value);
      return { kind: "secret", name, dataKey: dk };
    }
    case "cert": {
      const { id, sealed } = certificateRows.read(value);
      return { kind: "cert", name: id, dataKey: sealed.dk };
    }
    case "acme": {
      const { id, sealed } = acmeRows.read(value);
      return { kind: "acme", name: id, dataKey: sealed.dk };
    }
    default:
      return undefined;
  }
}

/** Returns true if a command could have written the row, as far as that can be checked without other rows. */
export function isWellFormedRow(key: string, value: string): boolean {
  const name = tableName(key);
  if (Object.hasOwn(PASSING, name)) return true;
  const rows = Object.hasOwn(TABLES, name) ? TABLES[name] : undefined;
  if (rows === undefined) return false;
  try {
    return rows.fits(key, value);
  } catch (error) {
    if (error instanceof Malformed) return false;
    throw error;
  }
}

/**
 * Returns whether a restore takes the row from the archive. Members stay those of the cluster, `keyid/` is rebuilt from the
 * keys, and rows of running processes are dropped.
 */
export function outlivesRestore(key: string): boolean {
  const name = tableName(key);
  return name !== "member" && name !== "keyid" && !Object.hasOwn(PASSING, name);
}

/** Returns the shapes of all tables, by key prefix. */
export function rowShapes(): Readonly<Record<string, Shape>> {
  const shapes = Object.entries(TABLES).map(([name, rows]) => [name, rows.shape()] as const);
  return Object.fromEntries([...shapes, ...Object.entries(PASSING).map(([name, shape]) => [name, shape()] as const)]);
}

/** Returns the row that maps the id of a `key/` row to its name. */
export function keyIdRowOf(value: string): readonly [key: string, value: string] {
  const { id, name } = keyRows.read(value);
  return [keyIdRowKey(id), keyIdRows.write(name)];
}
