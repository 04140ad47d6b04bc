/**
 * Filters by which one view links to another. Each is a token of the searched text with a trailing comma, so that it finds that
 * name and none that begins with it.
 */

/** Returns a filter for keys, and requests of callers, with this profile. */
export const profileFilter = (profile: string): string => `profile=${profile},`;

/** Returns a filter for keys that use this budget. */
export const budgetFilter = (budget: string): string => `budget=${budget},`;

/** Returns a filter for this key's own buckets. */
export const keyFilter = (key: string): string => `key=${key},`;

/** Returns a filter for refusals by this guardrail rule, or by a failed detector. */
export const guardrailFilter = (cause: string): string => `guardrail=${cause},`;

/** Returns a filter for requests of this caller. */
export const callerFilter = (caller: string): string => `caller=${caller},`;

/** Returns a filter for requests for this model. */
export const modelFilter = (model: string): string => `model=${model},`;

/** Returns a filter for requests to this provider, server or agent. */
export const providerFilter = (provider: string): string => `provider=${provider},`;

/** Returns a filter that combines several; those that exceed the maximum length of a pattern are left out. */
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

/** Maximum length of a pattern in UTF-16 units. */
const MAX_PATTERN = 200;

/**
 * Returns a filter for the requests of a suspension's or alert's subject; `undefined` for an issuer, which requests do not
 * name.
 */
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
