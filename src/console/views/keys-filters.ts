/**
 * Filters with which one view leads to another. Each is a token of the haystacks with a comma behind it, so that it finds
 * the one name and none that begins with it.
 */

/** Keys, and requests of callers, with this profile. */
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

/** Rows that one of these filters finds. Beyond what a pattern may be long, of the first ones. */
export function anyOf(filters: readonly string[]): string {
  const [first = ""] = filters;
  if (filters.length < 2) return first;
  const choices = filters.map((filter) => filter.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  let pattern = choices[0] ?? "";
  for (const choice of choices.slice(1)) {
    if (pattern.length + choice.length + 1 > MAX_PATTERN) break;
    pattern += `|${choice}`;
  }
  return `/${pattern}/`;
}

/** UTF-16 units, as filters take them. */
const MAX_PATTERN = 200;

/** Requests of what a suspension, or an attention row, is about; undefined: no request names an issuer. */
export function requestsOfSubject({
  kind,
  name,
}: {
  readonly kind: string;
  readonly name: string;
}): string | undefined {
  switch (kind) {
    case "provider":
    case "mcp":
    case "a2a":
      return providerFilter(name);
    case "model":
      return modelFilter(name);
    case "profile":
      return profileFilter(name);
    case "key":
    case "user":
    case "agent":
      return callerFilter(name);
    default:
      return undefined;
  }
}
