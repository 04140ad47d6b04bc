/** Thinking of the simulated provider, and its signature. */

export { thinkingText } from "../../../../src/simulator/answer-text.ts";
export { isRedacted, signatureOf } from "../../../../src/simulator/thinking-signature.ts";
