/** The front door's certificates and ACME accounts, sealed, so that every node serves the same ones. */

import { define } from "../command.ts";
import { label, object } from "../fields.ts";
import { ok, refused } from "../refusals.ts";
import {
  acmeFields,
  acmeRowKey,
  acmeRows,
  certificateFields,
  certificateRowKey,
  certificateRows,
  sealObstacle,
} from "./sealed.ts";

export const certPut = define("cert.put", object(certificateFields), (given, { draft, now }) => {
  const obstacle = sealObstacle(draft, given.sealed.dk);
  if (obstacle !== undefined) return refused(obstacle);
  draft.put(certificateRowKey(given.id), certificateRows.write({ ...given, at: now }));
  return ok();
});

export const certDelete = define("cert.delete", object({ id: label(256) }), ({ id }, { draft }) => {
  if (draft.get(certificateRowKey(id)) === undefined) return refused("not_found");
  draft.delete(certificateRowKey(id));
  return ok();
});

export const acmePut = define("acme.put", object(acmeFields), (given, { draft, now }) => {
  const obstacle = sealObstacle(draft, given.sealed.dk);
  if (obstacle !== undefined) return refused(obstacle);
  draft.put(acmeRowKey(given.id), acmeRows.write({ ...given, at: now }));
  return ok();
});

export const acmeDelete = define("acme.delete", object({ id: label(512) }), ({ id }, { draft }) => {
  if (draft.get(acmeRowKey(id)) === undefined) return refused("not_found");
  draft.delete(acmeRowKey(id));
  return ok();
});
