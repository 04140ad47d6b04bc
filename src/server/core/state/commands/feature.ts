/**
 * The feature level of the cluster: row `feat/level`. Commands and fields of a level are proposed only once every
 * member can apply them. Source: cluster reference, 6.3.
 */

import { define } from "../command.ts";
import { integer, object } from "../fields.ts";
import { ok, refused } from "../refusals.ts";
import { rowFormat } from "../row-format.ts";
import type { FeatureRange } from "../types.ts";
import { memberRows } from "./member-rows.ts";

/** From here on reports of budgets say what the node may spend before its next one, and grants are leased (`usage.report`). */
export const PLEDGES_LEVEL = 2;

/** From here on certificates and accounts of the front door are written, each version after the one before (`cert.put`). */
export const CERTIFICATES_LEVEL = 3;

/** From here on nodes add what was used to the ledger of usage (`used.add`). */
export const LEDGER_LEVEL = 3;

/** From here on rows of reconciliation are replaced by who has seen the one before (`reconcile.put` 2, `reconcile.forget`). */
export const RECONCILE_LEVEL = 3;

/** Levels that this build can work at. */
export const FEATURE_RANGE: FeatureRange = { min: 1, max: RECONCILE_LEVEL };

const levelRow = object({ level: integer(1, 1_000_000) });
export const levelRows = rowFormat(levelRow);
export const featureRowKey = "feat/level";

/** Of the row's value; 1 while there is none. */
export const levelOf = (value: string | undefined): number => (value === undefined ? 1 : levelRows.read(value).level);

export const featureSet = define("feat.set", levelRow, ({ level }, { draft }) => {
  const before = levelOf(draft.get(featureRowKey));
  if (level < before) return refused("level_lowered");
  for (const [, value] of draft.scan("member/")) {
    if (memberRows.read(value).feature[1] < level) return refused("feature_unsupported");
  }
  draft.put(featureRowKey, levelRows.write({ level }));
  return ok({ level });
});
