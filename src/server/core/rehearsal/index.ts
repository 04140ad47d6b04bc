/** Recorded requests, and what another configuration would have decided about them. Pure. */
export { BudgetReplay, type BudgetTerms, type ReplayedRequest } from "./budget-replay.ts";
export { type Counted, Tally } from "./change-counts.ts";
export {
  type Admission,
  endOf,
  type Guarding,
  type Judged,
  judge,
  type Outcome,
  type Proposal,
  type Refusal,
  type Resolve,
  type Step,
} from "./judge.ts";
export { CHUNK_ROWS, type PackedChunk, RecordChunk, unpack } from "./record-chunk.ts";
export { createRecordStore, DEFAULT_RECORD_BYTES, type RecordStore } from "./record-store.ts";
export {
  FACT,
  findingKey,
  findingsText,
  type RecordedCaller,
  type RecordedRequest,
  readFindings,
} from "./recorded-request.ts";
