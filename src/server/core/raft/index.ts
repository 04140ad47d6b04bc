/** Consensus: input in, obligations out. */

export type * from "./types.ts";
