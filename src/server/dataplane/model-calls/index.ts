/** Calls that the gateway itself makes for its detectors. */
export { createModelCalls } from "./model-calls.ts";
