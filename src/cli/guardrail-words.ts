/** Why a finding does not count, in the words of every verb that shows guardrails at work. */

import type { Removed } from "../server/core/guardrails/index.ts";

export const REMOVED_WORDS: Readonly<Record<Removed["by"], string>> = {
  threshold: "below the detector's `threshold`",
  score_threshold: "below `score_threshold`",
  allow_list: "on the allow list",
  conflicts: "gave way to another finding",
  form: "within a placeholder or pseudonym",
  check: "its check digit, or another proof, says that it is none",
};
