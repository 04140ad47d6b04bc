/** What a proposed configuration would have made of the requests that were served lately. */
export { type RehearsalInput, type RehearsalResult, rehearse } from "./rehearse.ts";
export type { BucketNow, KeyNow, NodeRecords, Side } from "./types.ts";
