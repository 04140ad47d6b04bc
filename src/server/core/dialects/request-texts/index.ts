export { readTexts } from "./read.ts";
export type { MessageText, RequestTexts, TextBody, TextKind } from "./types.ts";
