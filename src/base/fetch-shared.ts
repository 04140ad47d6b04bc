/** Fetches a value once for all processes of a node, in the process that needs it first. */

export interface FetchedValue<Value> {
  /** Value, which must survive JSON. A failure is stored as a value too, so that every waiting process gets it at once. */
  readonly value: Value;
  /**
   * Time for which others may use the value without fetching, in milliseconds; 0 if only those who are already waiting
   * get it.
   */
  readonly keepMs: number;
}

export interface SharedValue<Value> {
  readonly value: Value;
  /** Minimum age of the value, in milliseconds: the time since its fetch began. */
  readonly ageMs: number;
  /** Sequence number of the fetch; the later of two fetches of one key has the greater number. */
  readonly number: number;
  /** True if this call fetched the value. */
  readonly isOwn: boolean;
}

/**
 * Returns the value of `key` (a digest of everything that it depends on) from a fetch with a greater number than `after`; 0
 * accepts any. Rejects with the error of `fetch`.
 */
export type FetchShared = <Value>(
  key: string,
  after: number,
  fetch: () => Promise<FetchedValue<Value>>,
) => Promise<SharedValue<Value>>;

/** Implementation for a process that shares with no other. */
export const fetchUnshared: FetchShared = async (_, after, fetch) => {
  const { value } = await fetch();
  return { value, ageMs: 0, number: after + 1, isOwn: true };
};
