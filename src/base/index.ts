/** What every folder may build on: errors, time, ownership, logging and instruments. Imports nothing of ours. */

export * from "./address.ts";
export * from "./allotment.ts";
export * from "./clock.ts";
export * from "./done.ts";
export * from "./duration.ts";
export * from "./errors.ts";
export * from "./fetch-shared.ts";
export * from "./hop-by-hop.ts";
export * from "./in-slices.ts";
export * from "./instruments.ts";
export * from "./json-fault.ts";
export * from "./lifetime.ts";
export * from "./log.ts";
export * from "./merged-instruments.ts";
export * from "./native-calls.ts";
export * from "./nearest.ts";
export * from "./non-blocking-output.ts";
export * from "./optional-part.ts";
export * from "./pause.ts";
export * from "./shrink.ts";
export * from "./start-thread.ts";
export * from "./stop-accepting.ts";
export * from "./terminal-text.ts";
export * from "./tracers.ts";
export * from "./wire-reason.ts";
export * from "./with-resolvers.ts";
