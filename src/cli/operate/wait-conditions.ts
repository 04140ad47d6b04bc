/** Names of the conditions of `gateway wait`. */

export const CONDITION_NAMES = ["ready", "leader", "applied", "quiet"] as const;
export type ConditionName = (typeof CONDITION_NAMES)[number];
