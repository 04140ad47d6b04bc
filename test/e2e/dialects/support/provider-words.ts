/** What the simulated provider thinks, and how it signs it. */
export { isRedacted, signatureOf } from "../../../../src/simulator/signature.ts";
export { thinkingText } from "../../../../src/simulator/text.ts";
