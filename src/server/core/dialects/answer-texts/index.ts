export type { Media } from "./answer-strings.ts";
export { messageEvent } from "./event-framing.ts";
export type { EventTexts, StreamTexts } from "./event-texts.ts";
export {
  applySplices,
  isNullOrAbsent,
  type JsonMember,
  type JsonNode,
  memberOf,
  parseJsonTree,
  type Splice,
  stringIn,
} from "./positioned-json.ts";
export { openSessionTexts, openStreamTexts } from "./streamed-texts.ts";
export { type AnswerTexts, readAnswerTexts } from "./whole-answer-texts.ts";
