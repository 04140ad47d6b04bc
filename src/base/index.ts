/**
 * Foundations that every folder may import: errors, time, ownership, logging and instruments. Imports nothing from the
 * rest of the project.
 */

export * from "./abortable-pause.ts";
export * from "./address.ts";
export * from "./any-signal.ts";
export * from "./audit-events.ts";
export * from "./cgroup-limits.ts";
export * from "./clock.ts";
export * from "./completion-callback.ts";
export * from "./create-directories.ts";
export * from "./descriptors.ts";
export * from "./did-you-mean.ts";
export * from "./duration.ts";
export * from "./errors.ts";
export * from "./fetch-shared.ts";
export * from "./fifo-map.ts";
export * from "./hop-by-hop.ts";
export * from "./instruments.ts";
export * from "./json-fault.ts";
export * from "./lifetime.ts";
export * from "./log.ts";
export * from "./map-with-limit.ts";
export * from "./merged-instruments.ts";
export * from "./microtask.ts";
export * from "./native-calls.ts";
export * from "./non-blocking-output.ts";
export * from "./open-thread.ts";
export * from "./optional-packages.ts";
export * from "./private-key.ts";
export * from "./random-bytes.ts";
export * from "./refusals.ts";
export * from "./schema.ts";
export * from "./semaphore.ts";
export * from "./split-words.ts";
export * from "./start-thread.ts";
export * from "./stop-accepting.ts";
export * from "./terminal-text.ts";
export * from "./time-slices.ts";
export * from "./truncate-values.ts";
export * from "./upstream-tracing.ts";
export * from "./wire-reason.ts";
export * from "./with-resolvers.ts";
