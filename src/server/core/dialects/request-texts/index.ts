export { type EnvelopeText, headerTexts, queryTexts } from "./envelope.ts";
export { readTexts } from "./read.ts";
export type { MessageText, RequestTexts, TextBody, TextKind } from "./types.ts";
