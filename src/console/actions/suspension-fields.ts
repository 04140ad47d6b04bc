/** Fields of the suspension dialogs, and the limits that the admin API sets for them. */

import { OPERATIONS, SUSPENSION_KINDS, type SuspensionKind } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import type { Field } from "../model/dialog.ts";

export const UNTIL_LIFTED = "until lifted";
const DURATIONS = ["5m", "15m", "30m", "1h", "4h", "24h", UNTIL_LIFTED] as const;

const { params, body } = OPERATIONS.put_suspension;
const REASON = patternOf(body.schema.keys.reason.json);
const NAME = patternOf(params.keys.name.json);

function patternOf({ pattern }: Readonly<Record<string, unknown>>): RegExp {
  if (typeof pattern !== "string") throw new Error("the admin API bounds it by a pattern");
  return new RegExp(pattern, "u");
}

export const reasonProblem = (text: string): string | undefined =>
  REASON.test(text)
    ? undefined
    : text === ""
      ? "type a reason: callers read it"
      : "1 to 500 characters, no control characters";

export const nameProblem = (text: string): string | undefined =>
  NAME.test(text)
    ? undefined
    : text === ""
      ? "type the name of what to suspend"
      : `${escapeControls(text)} cannot be suspended: a name has 1 to 256 printable ASCII characters without blanks`;

/**
 * Returns the field of the reason. The reason of an existing suspension is edited; for a new one, typing replaces the proposal.
 */
export const reasonField = (reason?: string): Field => ({
  kind: "text",
  id: "reason",
  label: "Reason",
  initial: reason ?? "console: incident",
  isRequired: true,
  isProposal: reason === undefined,
  validate: reasonProblem,
});

export const DURATION_FIELD: Field = {
  kind: "choice",
  id: "duration",
  label: "Duration",
  initial: "30m",
  choices: DURATIONS,
};

export const KIND_FIELD: Field = {
  kind: "choice",
  id: "kind",
  label: "Kind",
  initial: "provider",
  choices: SUSPENSION_KINDS,
};

export const nameField = (suggestions: readonly string[]): Field => ({
  kind: "text",
  id: "name",
  label: "Name",
  initial: "",
  isRequired: true,
  validate: nameProblem,
  suggestions,
});

export const kindOf = (text: string | undefined): SuspensionKind =>
  SUSPENSION_KINDS.find((kind) => kind === text) ?? "provider";

/** Returns `for 30m` or `until lifted`. */
export const durationText = (duration: string): string => (duration === UNTIL_LIFTED ? duration : `for ${duration}`);
