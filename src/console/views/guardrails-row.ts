/** How the rows of the guardrails are named. */

import type { GuardrailRecord } from "../../admin-api/index.ts";

/** A detector and a rule may have one name. */
export const guardrailId = ({ kind, name }: Pick<GuardrailRecord, "kind" | "name">): string => `${kind}:${name}`;

const DETECTOR = "detector ";

/** What a refusal by it is told with. */
export const causeOf = ({ kind, name }: Pick<GuardrailRecord, "kind" | "name">): string =>
  kind === "detector" ? `${DETECTOR}${name}` : name;

/** The row that `causeOf` told of. */
export const guardrailIdOf = (cause: string): string =>
  cause.startsWith(DETECTOR)
    ? guardrailId({ kind: "detector", name: cause.slice(DETECTOR.length) })
    : guardrailId({ kind: "rule", name: cause });
