/**
 * Reasons for which a command may be refused: code and text. Rows contain only the code, so that a text may be improved without
 * two builds in one cluster disagreeing about the state. A released code never changes its meaning.
 */

import type { CommandResult } from "./types.ts";

export const COMMAND_REFUSALS = {
  invalid: "the command is malformed",
  conflict: "this idempotency key was used for another request, or the stored state does not allow this one",
  duplicate_too_old: "the command was sent again too late to tell whether it has been applied",
  feature_level: "the cluster's feature level does not allow this command yet",
  not_a_member: "the node is not a member of the cluster",
  storage_changed: "the member is known with another data directory; remove it and add it again",
  feature_unsupported: "a member does not support this feature level",
  level_lowered: "a feature level cannot be lowered",
  exists: "an object with this name or id already exists",
  not_found: "there is no object with this name",
  stale: "it has changed since the named revision or version",
  file_owned: "the configuration is written by the file that `deployment` of the node file names; edit that file",
  api_owned: "configuration sources written through the admin API exist; the file cannot become their single writer",
  waits: "the document differs from the stored one and has no version; `gateway config reload` applies it",
  version_behind: "the document's version is lower than the stored one",
  version_reused: "the document's version is the stored one, with other content; raise it with every edit",
  digest_mismatch: "the content does not match the given digest",
  blob_incomplete: "a part of the uploaded content is missing; upload it again",
  blob_limit: "too much uploaded content is waiting to be used",
  acknowledgement_limit: "there are too many acknowledgements; lift those that are no longer needed",
  too_large: "the content is too large",
  unknown_data_key: "there is no such data key",
  retired_data_key: "the data key is not the active one; seal again",
  in_use: "it is in use",
  stale_incarnation: "the report is of an earlier start of the node",
  sequence_gap: "a report of the node is missing before this one",
  malformed_state: "the archive's state is malformed, or not the announced one",
  state_fault: "rows of the state do not fit together; the command has changed nothing",
} as const;

export type CommandRefusal = keyof typeof COMMAND_REFUSALS;

export const ok = (value: unknown = null): CommandResult => ({ kind: "ok", value });

export type Refused = Extract<CommandResult, { readonly kind: "refused" }>;

export const refused = (code: CommandRefusal): Refused => ({
  kind: "refused",
  code,
  message: COMMAND_REFUSALS[code],
});
