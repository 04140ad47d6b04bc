export { type EnvelopeText, headerTexts, queryTexts } from "./outside-body.ts";
export { readTexts } from "./read-request-texts.ts";
export type { MessageText, RequestTexts, TextBody, TextKind } from "./types.ts";
