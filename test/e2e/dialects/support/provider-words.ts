/** What the simulated provider thinks, and how it signs it. */
export { isRedacted, signatureOf } from "../../../../src/cli/simulate/signature.ts";
export { thinkingText } from "../../../../src/cli/simulate/text.ts";
