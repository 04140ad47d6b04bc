/** Rehearsal: judges recorded requests by a proposed configuration. */
export { type RehearsalInput, type RehearsalResult, rehearse } from "./rehearse.ts";
export type { ConfigurationSide, CurrentBucket, CurrentKey, NodeRecords } from "./types.ts";
