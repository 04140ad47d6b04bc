/**
 * Whether this machine's clock agrees with the `Date` of an answer. A clock that is minutes off refuses sound tokens and
 * certificates, signs requests that are refused, and dates the audit trail wrongly. Source: RFC 9110 section 6.6.1.
 */

/** Tolerance in milliseconds: the header has whole seconds, and the server's clock may be a little off. */
const TOLERATED_MS = 5_000;

export interface Dated {
  readonly date?: string | string[] | undefined;
  /** Seconds that the answer lay in a cache; its date is as old. */
  readonly age?: string | string[] | undefined;
}

/**
 * Returns `undefined` if the clock agrees, or the answer has no date. `sentAt`, `gotAt`: milliseconds since 1970, by this
 * machine.
 */
export function clockFault({ date, age }: Dated, sentAt: number, gotAt: number): string | undefined {
  if (typeof date !== "string" || age !== undefined) return undefined;
  const theirs = Date.parse(date);
  if (Number.isNaN(theirs)) return undefined;
  // Their second began at some time between the two.
  const ahead = sentAt - (theirs + 1_000);
  const behind = theirs - gotAt;
  const off = Math.max(ahead, behind);
  if (off <= TOLERATED_MS) return undefined;
  const direction = ahead > behind ? "ahead of" : "behind";
  return `this machine's clock is ${Math.round(off / 1_000)} s ${direction} its Date: is time synchronised (\`timedatectl\`)?`;
}
