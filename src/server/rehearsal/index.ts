/** Rehearsal: judges recorded requests by a proposed configuration. */
export { type RehearsalResult, rehearse } from "./rehearse.ts";
export type { ConfigurationSide, CurrentBucket, CurrentKey } from "./types.ts";
