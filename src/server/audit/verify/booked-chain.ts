/** A chain of the input: its records, and the signatures that wait for its key. */

import type { ChainBook } from "./chain-book.ts";
import type { ReadRecord } from "./read-record.ts";
import type { Place } from "./types.ts";

export interface Unchecked extends Pick<ReadRecord, "kid" | "hash" | "sig" | "seq"> {
  readonly place: Place;
}

export interface BookedChain {
  readonly node: string;
  readonly kid: string;
  readonly book: ChainBook;
  hasKey: boolean;
  readonly unchecked: Unchecked[];
  /** The first record that was seen, for findings on the chain as a whole. */
  readonly firstPlace: Place;
}
