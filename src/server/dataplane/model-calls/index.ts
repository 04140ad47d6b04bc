/** Calls that the gateway makes itself, for its detectors. */
export { createModelCalls } from "./model-calls.ts";
