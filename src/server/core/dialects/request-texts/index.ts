export { headerTexts, queryTexts } from "./outside-body.ts";
export { readTexts } from "./read-request-texts.ts";
export type { MessageText } from "./types.ts";
