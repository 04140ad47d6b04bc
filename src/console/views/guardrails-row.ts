/** Names of guardrail rows. */

import type { GuardrailRecord } from "../../admin-api/index.ts";

/** Returns the id of a row; a detector and a rule may have the same name. */
export const guardrailId = ({ kind, name }: Pick<GuardrailRecord, "kind" | "name">): string => `${kind}:${name}`;

const DETECTOR = "detector ";

/** Returns the cause that a refusal by it reports. */
export const causeOf = ({ kind, name }: Pick<GuardrailRecord, "kind" | "name">): string =>
  kind === "detector" ? `${DETECTOR}${name}` : name;

/** Returns the row id for a cause of `causeOf`. */
export const guardrailIdOf = (cause: string): string =>
  cause.startsWith(DETECTOR)
    ? guardrailId({ kind: "detector", name: cause.slice(DETECTOR.length) })
    : guardrailId({ kind: "rule", name: cause });
