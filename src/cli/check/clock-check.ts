/**
 * Compares this machine's clock with the `Date` of an answer. If the clock is minutes off, the gateway refuses valid
 * tokens and certificates, servers refuse its signatures, and the audit trail has wrong times. Source: RFC 9110 section
 * 6.6.1.
 */

/** Tolerance in milliseconds: the header has whole seconds, and the server's clock may be a little off. */
const TOLERATED_MS = 5_000;

interface DateHeaders {
  readonly date?: string | string[] | undefined;
  /** Header `age`: seconds that the answer was in a cache, so that its date is old. */
  readonly age?: string | string[] | undefined;
}

/**
 * Returns the problem of the clock; `undefined` if it agrees, or the answer has no date. `sentAt`, `receivedAt`:
 * milliseconds since 1970, by this machine.
 */
export function clockFault({ date, age }: DateHeaders, sentAt: number, receivedAt: number): string | undefined {
  if (typeof date !== "string" || age !== undefined) return undefined;
  const serverTime = Date.parse(date);
  if (Number.isNaN(serverTime)) return undefined;
  // The server wrote its time, in whole seconds, at some moment between `sentAt` and `receivedAt`.
  const aheadMs = sentAt - (serverTime + 1_000);
  const behindMs = serverTime - receivedAt;
  const skewMs = Math.max(aheadMs, behindMs);
  if (skewMs <= TOLERATED_MS) return undefined;
  const direction = aheadMs > behindMs ? "ahead of" : "behind";
  return `the clock of this machine is ${Math.round(skewMs / 1_000)} s ${direction} the server's: check its synchronization with \`timedatectl\``;
}
