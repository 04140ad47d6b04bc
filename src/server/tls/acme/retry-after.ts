/** Parses `Retry-After` (RFC 9110 section 10.2.3): seconds, or a date. */

/** Returns a time in milliseconds since 1970, or `undefined` without a readable value. */
export function retryAtOf(value: string | readonly string[] | undefined, now: number): number | undefined {
  const text = typeof value === "string" ? value.trim() : undefined;
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,9}$/.test(text)) return now + Number(text) * 1_000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}
