/**
 * Certificates and ACME accounts of the public listener, sealed, so that every node serves the same ones. A write names the
 * version that it replaces, since another leader may have continued what one leader began.
 */

import { define, type Site } from "../command.ts";
import { ok, refused } from "../command-refusals.ts";
import { integer, label, nullable, object } from "../fields.ts";
import { CERTIFICATES_LEVEL } from "./feature.ts";
import {
  acmeFields,
  acmeRowKey,
  acmeRows,
  certificateFields,
  certificateRowKey,
  certificateRows,
  sealObstacle,
} from "./sealed.ts";

const SINCE = { level: CERTIFICATES_LEVEL };

/** Version to replace; null if there must be none. Values are sealed for the version after it. */
const expect = nullable(integer(1));

interface Table {
  key(id: string): string;
  versionOf(value: string): number;
}

const CERTIFICATES: Table = { key: certificateRowKey, versionOf: (value) => certificateRows.read(value).ver };
const ACCOUNTS: Table = { key: acmeRowKey, versionOf: (value) => acmeRows.read(value).ver };

function versionIn(table: Table, id: string, { draft }: Site): number | null {
  const value = draft.get(table.key(id));
  return value === undefined ? null : table.versionOf(value);
}

function remove(table: Table, { id, ver }: { readonly id: string; readonly ver: number }, site: Site) {
  const before = versionIn(table, id, site);
  if (before === null) return refused("not_found");
  if (before !== ver) return refused("stale");
  site.draft.delete(table.key(id));
  return ok();
}

export const certPut = define(
  "cert.put",
  object({ ...certificateFields, expect }),
  ({ expect, ...params }, site) => {
    const before = versionIn(CERTIFICATES, params.id, site);
    if (before !== expect) return refused("stale");
    const obstacle = sealObstacle(site.draft, params.sealed.dk);
    if (obstacle !== undefined) return refused(obstacle);
    const ver = (before ?? 0) + 1;
    site.draft.put(certificateRowKey(params.id), certificateRows.write({ ...params, ver, at: site.now }));
    return ok({ version: ver });
  },
  SINCE,
);

export const certDelete = define(
  "cert.delete",
  object({ id: label(256), ver: integer(1) }),
  (params, site) => remove(CERTIFICATES, params, site),
  SINCE,
);

export const acmePut = define(
  "acme.put",
  object({ ...acmeFields, expect }),
  ({ expect, ...params }, site) => {
    const before = versionIn(ACCOUNTS, params.id, site);
    if (before !== expect) return refused("stale");
    const obstacle = sealObstacle(site.draft, params.sealed.dk);
    if (obstacle !== undefined) return refused(obstacle);
    const ver = (before ?? 0) + 1;
    site.draft.put(acmeRowKey(params.id), acmeRows.write({ ...params, ver, at: site.now }));
    return ok({ version: ver });
  },
  SINCE,
);

export const acmeDelete = define(
  "acme.delete",
  object({ id: label(512), ver: integer(1) }),
  (params, site) => remove(ACCOUNTS, params, site),
  SINCE,
);
