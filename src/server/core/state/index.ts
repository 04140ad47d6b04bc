/** The replicated state machine: commands in, rows and results out. */

export type * from "./types.ts";
