export type { Media } from "./answer-strings.ts";
export { messageEvent } from "./event-framing.ts";
export {
  isNothing,
  memberOf,
  type Placed,
  type PlacedMember,
  placedIn,
  type Splice,
  spliced,
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
