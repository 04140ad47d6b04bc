/** What is fetched for all processes of a node by whichever needs it first. */

export interface Shareable<Value> {
  /** Survives JSON. What failed is a value as well, so that whoever waits is told it at once. */
  readonly value: Value;
  /** For how long others may have it without a fetch of their own; 0: whoever waits for it has it, and nobody after. */
  readonly keepMs: number;
}

export interface SharedValue<Value> {
  readonly value: Value;
  /** Milliseconds since its fetch began, at least: what of its life is over. */
  readonly ageMs: number;
  /** Of its fetch: of two of one key the later has the greater. */
  readonly number: number;
  /** It was fetched by this call. */
  readonly isOwn: boolean;
}

/**
 * The value of `key`, a digest of all that it depends on, from a fetch with a greater number than `after`; 0: from any. Rejects
 * with what `fetch` rejects with.
 */
export type FetchShared = <Value>(
  key: string,
  after: number,
  fetch: () => Promise<Shareable<Value>>,
) => Promise<SharedValue<Value>>;

/** Of a process that shares with nobody. */
export const fetchAlone: FetchShared = async (_, after, fetch) => {
  const { value } = await fetch();
  return { value, ageMs: 0, number: after + 1, isOwn: true };
};
