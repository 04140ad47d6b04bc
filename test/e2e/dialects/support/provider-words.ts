/** Thinking of the simulated provider, and its signature. */
export { isRedacted, signatureOf } from "../../../../src/simulator/signature.ts";
export { thinkingText } from "../../../../src/simulator/text.ts";
