/** Chain found in the input: its records, and the signatures that cannot be checked before its key is known. */

import type { ChainAssembler } from "./assemble-chain.ts";
import type { SignedRecord } from "./examine-block.ts";
import type { ReadRecord } from "./read-record.ts";
import type { Place } from "./types.ts";

export interface UncheckedSignature extends SignedRecord, Pick<ReadRecord, "seq"> {
  readonly place: Place;
}

/**
 * Checks the order of a chain's records in the files. A gateway writes them in the order of their numbers, and repeats the last
 * ones after a crash. A collector that resends, or sends in parallel, does not keep that order, so records out of order are
 * reported but are no finding: the numbers, which are signed, define the order.
 */
interface RecordOrder {
  misplaced: number;
  firstMisplaced: Place | undefined;
  /** File that was read last, and the highest number in it. */
  file: string | undefined;
  highest: number;
}

export function createRecordOrder(): RecordOrder {
  return { misplaced: 0, firstMisplaced: undefined, file: undefined, highest: -1 };
}

/** Updates the order with a record that is not a copy. */
export function updateOrder(order: RecordOrder, seq: number, place: Place): void {
  if (order.file !== place.file) {
    order.file = place.file;
    order.highest = -1;
  }
  if (seq > order.highest) {
    order.highest = seq;
    return;
  }
  order.misplaced += 1;
  order.firstMisplaced ??= place;
}

export interface AssembledChain {
  readonly node: string;
  readonly kid: string;
  readonly assembler: ChainAssembler;
  readonly order: RecordOrder;
  hasKey: boolean;
  readonly unchecked: UncheckedSignature[];
  /** Place of the first record, for findings about the whole chain. */
  readonly firstPlace: Place;
}
