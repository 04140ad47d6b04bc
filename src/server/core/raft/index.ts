/** Raft consensus core: takes messages and ticks, and returns the actions to take. */

export { decodeConfChange, encodeConfChange } from "./conf-change.ts";
export { applyChange } from "./configuration-change.ts";
export { createMemoryLog, type MemoryLog } from "./memory-log.ts";
export { createRaft } from "./raft.ts";
export type * from "./types.ts";
