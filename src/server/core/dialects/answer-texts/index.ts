export { messageEvent } from "./framing.ts";
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
export { type EventTexts, openSessionTexts, openStreamTexts, type StreamTexts, type TextPiece } from "./stream.ts";
export type { Media } from "./strings.ts";
export { type AnswerText, type AnswerTexts, readAnswerTexts } from "./whole.ts";
