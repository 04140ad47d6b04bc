/**
 * The replicated state machine: takes commands, and returns changed rows and results.
 *
 * - `commands/`: a file for each group of commands
 */

export type { CommandRule, NamedCommand } from "./command.ts";
export { COMMAND_REFUSALS } from "./command-refusals.ts";
export {
  type AcknowledgementRow,
  acknowledgementRowKey,
  MAX_ACKNOWLEDGEMENTS,
} from "./commands/acknowledgements.ts";
export {
  type HeadRow,
  headConflictKey,
  headRowKey,
  headsOf,
} from "./commands/audit.ts";
export { MAX_PART_BYTES, maxPartsAt } from "./commands/blobs.ts";
export {
  ACKNOWLEDGEMENTS_LEVEL,
  CERTIFICATES_LEVEL,
  FEATURE_LEVELS,
  FEATURE_RANGE,
  featureRowKey,
  LARGE_ARCHIVE_LEVEL,
  LEDGER_LEVEL,
  LOG_TIME_LEVEL,
  PLEDGES_LEVEL,
  RECONCILE_LEVEL,
  VERSION_GUARD_LEVEL,
} from "./commands/feature.ts";
export { type KeyRow, keyIdRowKey, keyRowKey } from "./commands/keys.ts";
export { memberRowKey, unknownMember } from "./commands/member-rows.ts";
export { ledgerRowKey } from "./commands/reconcile.ts";
export {
  acmeRowKey,
  certificateRowKey,
  type RingRow,
  ringRowKey,
  type Sealed,
  type SecretRow,
  secretRowKey,
} from "./commands/sealed.ts";
export {
  deployModeKey,
  FILE_SOURCE,
  highestVersion,
  revisionRowKey,
  revisionsOf,
  type SourceRow,
  sourceRowKey,
} from "./commands/source-rows.ts";
export { type SuspensionKind, type SuspensionRow, suspensionRowKey } from "./commands/suspensions.ts";
export { commands, mayPropose } from "./commands/table.ts";
export type { UsageAnswer } from "./commands/usage.ts";
export { isRollDue } from "./commands/usage-increments.ts";
export { type HoldingRow, holdingsOf, type UsageRow, usageRowKey } from "./commands/usage-rows.ts";
export { addCounts, packRows, scanPacked } from "./commands/used-packing.ts";
export { MAX_CALLER_ROWS, MAX_OTHER_ROWS, MAX_ROWS_A_CALLER, periodsOf, scanPeriod } from "./commands/used-period.ts";
export {
  COUNTS,
  dayText,
  FIXED_NAMES,
  HOPS,
  HOUR_MS,
  HOURS_A_DAY,
  type Hop,
  KEPT_DAYS,
  KEPT_HOURS,
  MAX_NAME_LENGTH,
  METERED_KINDS,
  type MeteredRow,
  meteredOf,
  NAMED_FIELDS,
  packedIn,
  USED_WIDTH,
} from "./commands/used-rows.ts";
export { featureLevelStatus, featureLevelWaitText, isLevelRising, levelIn } from "./feature-level-status.ts";
export { createRows } from "./ordered-rows.ts";
export { decodeProposal, encodeCommand, encodeProposal, MAX_COMMAND_BYTES, UpgradeRequired } from "./proposal.ts";
export {
  readAcknowledgement,
  readAcme,
  readCertificate,
  readFeatureLevel,
  readHead,
  readHeadConflict,
  readHolding,
  readKey,
  readKeyName,
  readLedger,
  readMember,
  readMetered,
  readRevision,
  readRing,
  readSecret,
  readSource,
  readSuspension,
  readUsage,
  readUsedNames,
} from "./readers.ts";
export { createStateDecoder, createStateEncoder, MAX_VALUE_BYTES, StateFormatError } from "./state-file.ts";
export { createState, digestOf, loadState, MAX_STAMP_LAG_MS, type StateOptions } from "./state-machine.ts";
export { type SealedRow, sealedRow } from "./state-tables.ts";
export type { Steps } from "./steps.ts";
export type * from "./types.ts";
