/**
 * Commands on the whole state: they compare it, and replace it by the state of an archive.
 *
 * A restore keeps the members and what must not be undone: the feature level and the witnessed heads. It drops what belongs to
 * running processes: sessions, idempotency keys, uploads, allowances. Grants in the archive count as used, and every member's
 * incarnation grows, so that earlier reports are refused. Source: cluster reference, 6.2, 6.5 and 9.3.
 */

import { define, type Site } from "../command.ts";
import { ok, refused } from "../command-refusals.ts";
import { integer, object, sha256Hex, text } from "../fields.ts";
import { createDraft, type Draft } from "../mutation-draft.ts";
import { createRows } from "../ordered-rows.ts";
import { createStateDecoder, StateFormatError } from "../state-file.ts";
import { isWellFormedRow, keyIdRowOf, outlivesRestore } from "../state-tables.ts";
import { keepWitnessed } from "./audit.ts";
import { blobPieces, MAX_ARCHIVE_PARTS, maxPartsAt } from "./blobs.ts";
import { featureRowKey, levelOf, levelRows } from "./feature.ts";
import { memberRows } from "./member-rows.ts";
import { restartedMembers } from "./members.ts";
import { closeHoldings } from "./usage.ts";
import { holdingRows } from "./usage-rows.ts";

const digest = text(/^[0-9a-f]{32}$/, 32);
type Row = readonly [key: string, value: string];

/**
 * Compares the digest of the state. `equal` is null if other entries were applied in between, so that the digests cannot be
 * compared.
 */
export const stateCheck = define("state.check", object({ index: integer(), digest }), (given, site) => {
  const equal = given.index === site.index - 1 ? given.digest === site.digest : null;
  return ok({ equal, digest: site.digest });
});

export const stateRestore = define(
  "state.restore",
  object({ sha256: sha256Hex, parts: integer(1, MAX_ARCHIVE_PARTS), rows: integer(), digest }),
  (given, site) => {
    if (given.parts > maxPartsAt(levelOf(site.draft.get(featureRowKey)))) return refused("invalid");
    const pieces = blobPieces(site.draft, given);
    if (typeof pieces === "string") return refused(pieces);
    const archived = readArchive(pieces, given);
    if (archived === undefined) return refused("malformed_state");

    const level = Math.max(levelOf(site.draft.get(featureRowKey)), levelOf(archived.get(featureRowKey)));
    for (const [, value] of site.draft.scan("member/")) {
      if (memberRows.read(value).feature[1] < level) return refused("feature_unsupported");
    }
    site.replace(replacement(site, archived, level));
    return ok({ rows: given.rows });
  },
);

/** Returns a draft of the archive's rows; `undefined` if they are incomplete, malformed or not as announced. */
function readArchive(
  pieces: readonly Uint8Array[],
  announced: { readonly rows: number; readonly digest: string },
): Draft | undefined {
  const decoder = createStateDecoder();
  const rows: Row[] = [];
  try {
    for (const piece of pieces) for (const row of decoder.push(piece)) rows.push(row);
    const { rows: count, digest: found } = decoder.end();
    if (count !== announced.rows || found !== announced.digest) return undefined;
  } catch (error) {
    if (error instanceof StateFormatError) return undefined;
    throw error;
  }
  const kept = createRows();
  for (const [key, value] of rows) {
    if (!isWellFormedRow(key, value)) return undefined;
    if (outlivesRestore(key)) kept.apply([{ key, value }]);
  }
  return createDraft(kept);
}

function replacement(site: Site, archived: Draft, level: number): readonly Row[] {
  const holders = new Set(Array.from(archived.scan("alloc/"), ([, value]) => holdingRows.read(value).node));
  for (const node of [...holders].sort()) closeHoldings(archived, node, Number.POSITIVE_INFINITY);
  for (const [key, value] of restartedMembers(site)) archived.put(key, value);
  for (const [, row] of archived.scan("key/")) archived.put(...keyIdRowOf(row));
  keepWitnessed(archived, site.draft);
  if (level > 1) archived.put(featureRowKey, levelRows.write({ level }));
  return Array.from(archived.scan(""));
}
