/**
 * Feature level of the cluster: row `feat/level`. Commands and fields of a level are proposed only once every member can apply
 * them. Source: cluster reference, 6.3.
 */

import { define } from "../command.ts";
import { ok, refused } from "../command-refusals.ts";
import { integer, object } from "../fields.ts";
import { rowFormat } from "../row-format.ts";
import type { FeatureRange } from "../types.ts";
import { memberRows } from "./member-rows.ts";

/**
 * From this level on, budget reports contain the maximum that the node may spend before its next one, and grants are leased
 * (`usage.report`).
 */
export const PLEDGES_LEVEL = 2;

/**
 * From this level on, certificates and accounts of the public listener are written, each version after the previous one
 * (`cert.put`).
 */
export const CERTIFICATES_LEVEL = 3;

/** From this level on, nodes add usage to the usage ledger (`used.add`). */
export const LEDGER_LEVEL = 3;

/**
 * From this level on, reconciliation rows are replaced only by a node that has seen the previous one (`reconcile.put` 2,
 * `reconcile.forget`).
 */
export const RECONCILE_LEVEL = 3;

/** From this level on, alerts can be acknowledged (`acknowledgement.put`). */
export const ACKNOWLEDGEMENTS_LEVEL = 4;

/**
 * From this level on, an entry whose stamp is far behind log time is judged by its stamp: the log is ahead of the members'
 * clocks, and time-dependent decisions must not wait until they catch up.
 */
export const LOG_TIME_LEVEL = 5;

/** From this level on, an edition of the file without a version remembers the highest version applied before it. */
export const VERSION_GUARD_LEVEL = 5;

/** From this level on, archives with more than 128 MiB of state can be restored (`blob.put`, `state.restore`). */
export const LARGE_ARCHIVE_LEVEL = 5;

interface FeatureLevel {
  readonly level: number;
  /** Gateway version that introduced the level, as in `CHANGELOG.md`. */
  readonly since: string;
  /** Text for operators: what the cluster can do once every member supports the level. */
  readonly brings: string;
}

/**
 * Feature levels in order, from 1, without gaps. The level of a released build is frozen: changes need a new one. See
 * CONTRIBUTING, "Versions".
 */
export const FEATURE_LEVELS: readonly FeatureLevel[] = [
  { level: 1, since: "0.1.0", brings: "keys, suspensions, sources, secrets, budgets and heads of audit trails" },
  {
    level: PLEDGES_LEVEL,
    since: "0.1.0",
    brings: "if a node falls silent, the rest of its budget shares is granted to other nodes",
  },
  {
    level: RECONCILE_LEVEL,
    since: "0.1.0",
    brings: "the ledger of usage, verdicts of reconciliation, certificates and ACME accounts",
  },
  {
    level: ACKNOWLEDGEMENTS_LEVEL,
    since: "0.1.0",
    brings: "acknowledgements of alerts",
  },
  {
    level: LOG_TIME_LEVEL,
    since: "0.1.0",
    brings:
      "budgets, suspensions and expiries use the members' clocks if the time of the log is ahead of them; " +
      "archives with more than 128 MiB of state can be restored",
  },
];

/** Levels that this build can work at. */
export const FEATURE_RANGE: FeatureRange = { min: 1, max: FEATURE_LEVELS.length };

const levelRow = object({ level: integer(1, 1_000_000) });
export const levelRows = rowFormat(levelRow);
export const featureRowKey = "feat/level";

/** Parses the row's value; returns 1 if there is no row. */
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
