/** Recorded requests, and what another configuration would have decided about them. Pure. */
export { BudgetReplay, type BudgetTerms, type ReplayedRequest, type UsedBefore } from "./budget-replay.ts";
export { type Change, type Counted, type Example, MAX_EXAMPLES, Tally } from "./change-counts.ts";
export {
  type Admission,
  type Decision,
  endOf,
  type Guarding,
  type Judged,
  judge,
  type Outcome,
  PASSED,
  type Proposal,
  type Refusal,
  type Resolve,
  type Stage,
  type Step,
} from "./judge.ts";
export { CHUNK_ROWS, type PackedChunk, RecordChunk, unpack } from "./record-chunk.ts";
export { createRecordStore, DEFAULT_RECORD_BYTES, KEPT_RECORDS, type RecordStore } from "./record-store.ts";
export {
  FACT,
  findingKey,
  findingsText,
  type RecordedCaller,
  type RecordedFinding,
  type RecordedRequest,
  readFindings,
  type Traffic,
} from "./recorded-request.ts";
