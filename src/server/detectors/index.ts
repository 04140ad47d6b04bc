/** Detectors, and the ensemble that asks them. */

export * from "./ensemble/index.ts";
