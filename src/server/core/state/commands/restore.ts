/**
 * Commands on the whole state: they compare it, and replace it by the state of an archive.
 *
 * A restore keeps the members and what must not be undone: the feature level and the witnessed heads. It drops what belongs to
 * running processes: sessions, idempotency keys, uploads, allowances. Grants in the archive count as used, and every member's
 * incarnation grows, so that earlier reports are refused. Source: cluster reference, 6.2, 6.5 and 9.3.
 *
 * A restore of hundreds of thousands of rows takes longer than an election. It runs in steps, so that the leader can go on
 * sending heartbeats.
 */

import { define, type Site } from "../command.ts";
import { ok, refused } from "../command-refusals.ts";
import { integer, object, sha256Hex, text } from "../fields.ts";
import { createDraft, type Draft } from "../mutation-draft.ts";
import { createRows, type Rows } from "../ordered-rows.ts";
import { createStateDecoder, StateFormatError } from "../state-file.ts";
import { isWellFormedRow, keyIdRowOf, outlivesRestore } from "../state-tables.ts";
import type { Steps } from "../steps.ts";
import type { CommandResult } from "../types.ts";
import { keepWitnessed } from "./audit.ts";
import { type BlobReference, blobPieces, checkBlob, MAX_ARCHIVE_PARTS, maxPartsAt } from "./blobs.ts";
import { featureRowKey, levelOf, levelRows } from "./feature.ts";
import { memberRows } from "./member-rows.ts";
import { restartedMembers } from "./members.ts";
import { closeHolding } from "./usage.ts";
import { holdingRows } from "./usage-rows.ts";

/** Number of rows in one step. */
const STEP_ROWS = 1_000;

const digest = text(/^[0-9a-f]{32}$/, 32);
type Row = readonly [key: string, value: string];

/**
 * Compares the digest of the state. `equal` is null if other entries were applied in between, so that the digests cannot be
 * compared.
 */
export const stateCheck = define("state.check", object({ index: integer(), digest }), (params, site) => {
  const equal = params.index === site.index - 1 ? params.digest === site.digest : null;
  return ok({ equal, digest: site.digest });
});

const restoreFields = object({
  sha256: sha256Hex,
  parts: integer(1, MAX_ARCHIVE_PARTS),
  rows: integer(),
  digest,
});
type Restore = ReturnType<typeof restoreFields>;

export const stateRestore = define("state.restore", restoreFields, restore);

function* restore(params: Restore, site: Site): Steps<CommandResult> {
  const levelNow = levelOf(site.draft.get(featureRowKey));
  if (params.parts > maxPartsAt(levelNow)) return refused("invalid");
  const fault = yield* checkBlob(site.draft, params);
  if (fault !== undefined) return refused(fault);
  const archived = yield* readArchive(site.draft, params);
  if (archived === undefined) return refused("malformed_state");

  const level = Math.max(levelNow, levelOf(archived.get(featureRowKey)));
  for (const [, value] of site.draft.scan("member/")) {
    if (memberRows.read(value).feature[1] < level) return refused("feature_unsupported");
  }
  yield* closeAllHoldings(archived);
  yield* addKeyIds(archived);
  const draft = createDraft(archived);
  for (const [key, value] of restartedMembers(site)) draft.put(key, value);
  keepWitnessed(draft, site.draft);
  if (level > 1) draft.put(featureRowKey, levelRows.write({ level }));
  archived.apply(draft.mutations());
  site.replace(archived);
  return ok({ rows: params.rows });
}

/** Returns the rows of the archive that are kept; `undefined` if they are incomplete, malformed or not as announced. */
function* readArchive(
  draft: Draft,
  announced: BlobReference & Pick<Restore, "rows" | "digest">,
): Steps<Rows | undefined> {
  const decoder = createStateDecoder();
  const kept = createRows();
  let isWellFormed = true;
  try {
    for (const piece of blobPieces(draft, announced)) {
      let count = 0;
      for (const [key, value] of decoder.push(piece)) {
        isWellFormed &&= isWellFormedRow(key, value);
        if (isWellFormed && outlivesRestore(key)) kept.apply([{ key, value }]);
        count += 1;
        if (count % STEP_ROWS === 0) yield;
      }
      yield;
    }
    const { rows: count, digest: found } = decoder.end();
    return isWellFormed && count === announced.rows && found === announced.digest ? kept : undefined;
  } catch (error) {
    if (error instanceof StateFormatError) return undefined;
    throw error;
  }
}

function* closeAllHoldings(archived: Rows): Steps<void> {
  for (const some of slices(archived, "alloc/")) {
    const draft = createDraft(archived);
    for (const [, value] of some) closeHolding(draft, holdingRows.read(value));
    archived.apply(draft.mutations());
    yield;
  }
}

/** Adds the row of each key's id, which is not taken from the archive. */
function* addKeyIds(archived: Rows): Steps<void> {
  for (const some of slices(archived, "key/")) {
    for (const [, row] of some) {
      const [key, value] = keyIdRowOf(row);
      archived.apply([{ key, value }]);
    }
    yield;
  }
}

/** Returns the rows with this prefix in slices. The rows may be changed between two slices. */
function* slices(rows: Rows, prefix: string): Iterable<readonly Row[]> {
  for (let after: string | undefined; ; ) {
    const slice: Row[] = [];
    for (const row of rows.scan(prefix, after)) {
      slice.push(row);
      if (slice.length === STEP_ROWS) break;
    }
    if (slice.length === 0) return;
    after = slice.at(-1)?.[0];
    yield slice;
  }
}
