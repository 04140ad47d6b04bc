/** Rehearsal: judges recorded requests by a proposed configuration. */
export { type RehearsalInput, type RehearsalResult, rehearse } from "./rehearse.ts";
export type { BucketNow, KeyNow, NodeRecords, Side } from "./types.ts";
