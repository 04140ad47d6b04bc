/**
 * Compares this machine's clock with the `Date` of an answer. If the clock is minutes off, the gateway refuses valid
 * tokens and certificates, servers refuse its signatures, and the audit trail has wrong times. Source: RFC 9110 section
 * 6.6.1.
 */

/** Tolerance in milliseconds: the header has whole seconds, and the server's clock may be a little off. */
const TOLERATED_MS = 5_000;

interface Dated {
  readonly date?: string | string[] | undefined;
  /** Header `age`: seconds that the answer was in a cache, so that its date is old. */
  readonly age?: string | string[] | undefined;
}

/**
 * Returns the problem of the clock; `undefined` if it agrees, or the answer has no date. `sentAt`, `gotAt`:
 * milliseconds since 1970, by this machine.
 */
export function clockFault({ date, age }: Dated, sentAt: number, gotAt: number): string | undefined {
  if (typeof date !== "string" || age !== undefined) return undefined;
  const theirs = Date.parse(date);
  if (Number.isNaN(theirs)) return undefined;
  // The server wrote its time, in whole seconds, at some moment between `sentAt` and `gotAt`.
  const ahead = sentAt - (theirs + 1_000);
  const behind = theirs - gotAt;
  const off = Math.max(ahead, behind);
  if (off <= TOLERATED_MS) return undefined;
  const direction = ahead > behind ? "ahead of" : "behind";
  return `the clock of this machine is ${Math.round(off / 1_000)} s ${direction} the server's: check its synchronization with \`timedatectl\``;
}
