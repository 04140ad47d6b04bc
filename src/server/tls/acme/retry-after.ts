/** `Retry-After` (RFC 9110 section 10.2.3): seconds, or a date. */

/** As a time, milliseconds since 1970; undefined where there is none, or none that can be read. */
export function retryAtOf(value: string | readonly string[] | undefined, now: number): number | undefined {
  const text = typeof value === "string" ? value.trim() : undefined;
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,9}$/.test(text)) return now + Number(text) * 1_000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}
