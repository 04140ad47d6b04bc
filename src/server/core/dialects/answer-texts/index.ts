export type { Media } from "./answer-strings.ts";
export { messageEvent } from "./event-framing.ts";
export {
  applySplices,
  isNullOrAbsent,
  type JsonMember,
  type JsonNode,
  memberOf,
  parseJsonTree,
  type Splice,
  stringIn,
} from "./placed.ts";
export {
  type EventTexts,
  openSessionTexts,
  openStreamTexts,
  type StreamTexts,
  type TextPiece,
} from "./streamed-texts.ts";
export { type AnswerText, type AnswerTexts, readAnswerTexts } from "./whole.ts";
