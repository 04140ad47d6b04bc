/** All kinds of rows by the beginning of their key: how a row is checked that comes from outside, as in an archive. */

import { headConflictKey, headConflictRows, headRowKey, headRows } from "./commands/audit.ts";
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
  usedChunkRowKey,
  usedChunkRows,
  usedNamesRowKey,
  usedNamesRows,
} from "./commands/used-rows.ts";
import { Malformed } from "./fields.ts";
import type { RowFormat } from "./row-format.ts";

/** Whether the value is a row of the table and stands under the key that it must stand under. */
type Check = (key: string, value: string) => boolean;

const table =
  <T>(format: RowFormat<T>, keyOf: (row: T) => string): Check =>
  (key, value) =>
    key === keyOf(format.read(value));

const head = table(headRows, (row) => headRowKey(row.node, row.kid));
const headConflict = table(headConflictRows, (row) => headConflictKey(row.node));

const usedChunk = table(usedChunkRows, usedChunkRowKey);
const usedNames = table(usedNamesRows, usedNamesRowKey);

const CHECKS: Readonly<Record<string, Check>> = {
  acme: table(acmeRows, (row) => acmeRowKey(row.id)),
  alloc: table(holdingRows, (row) => holdingRowKey(row.node, row)),
  cert: table(certificateRows, (row) => certificateRowKey(row.id)),
  deploy: table(deployModeRows, () => deployModeKey),
  feat: table(levelRows, () => featureRowKey),
  head: (key, value) => (key.endsWith("/conflict") ? headConflict : head)(key, value),
  hist: table(revisionRows, (row) => revisionRowKey(row.name, row.revision)),
  key: table(keyRows, (row) => keyRowKey(row.name)),
  keyid: (key, value) => /^keyid\/[0-9A-Za-z]+$/.test(key) && keyIdRows.read(value) !== "",
  member: table(memberRows, (row) => memberRowKey(row.id)),
  met: table(meteredRows, meteredRowKey),
  rec: table(ledgerRows, ledgerRowKey),
  ring: table(ringRows, (row) => ringRowKey(row.id)),
  secret: table(secretRows, (row) => secretRowKey(row.name)),
  source: table(sourceRows, (row) => sourceRowKey(row.name)),
  susp: table(suspensionRows, (row) => suspensionRowKey(row.kind, row.name)),
  usage: table(usageRows, usageRowKey),
  used: (key, value) => (key.endsWith("/names") ? usedNames : usedChunk)(key, value),
};

/** Belong to processes that run, and are left behind with the state they were part of. */
const PASSING = ["blob", "idem", "sess", "reported"];

const tableName = (key: string): string => key.slice(0, Math.max(0, key.indexOf("/")));

/** Whether the row is one that a command could have made, as far as it can be seen without the others. */
export function isWellFormedRow(key: string, value: string): boolean {
  const name = tableName(key);
  if (PASSING.includes(name)) return true;
  const check = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined;
  if (check === undefined) return false;
  try {
    return check(key, value);
  } catch (error) {
    if (error instanceof Malformed) return false;
    throw error;
  }
}

/** Whether a restore takes the row over. Members are those of the cluster; `keyid/` is made anew from the keys. */
export function outlivesRestore(key: string): boolean {
  const name = tableName(key);
  return name !== "member" && name !== "keyid" && !PASSING.includes(name);
}

/** The row by which the key of a `key/` row is found by its id. */
export function keyIdRowOf(value: string): readonly [key: string, value: string] {
  const { id, name } = keyRows.read(value);
  return [keyIdRowKey(id), keyIdRows.write(name)];
}
