/**
 * Filters with which one view leads to another. Each is a token of the haystacks with a comma behind it, so that it finds
 * the one name and none that begins with it.
 */

/** Keys with this profile. */
export const profileFilter = (profile: string): string => `profile=${profile},`;

/** Keys that spend from this budget. */
export const budgetFilter = (budget: string): string => `budget=${budget},`;

/** Buckets that this key has for itself. */
export const keyFilter = (key: string): string => `key=${key},`;

/** Refusals by this rule of guardrails, or by a detector that could not do its work. */
export const guardrailFilter = (cause: string): string => `guardrail=${cause},`;

/** Requests of this caller. */
export const callerFilter = (caller: string): string => `caller=${caller},`;

/** Requests that asked for this model. */
export const modelFilter = (model: string): string => `model=${model},`;

/** Requests that went to this provider, server or agent. */
export const providerFilter = (provider: string): string => `provider=${provider},`;
