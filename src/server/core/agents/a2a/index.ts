export { type A2aFaultKind, a2aFault } from "./a2a-faults.ts";
export { a2aAnswerTexts, a2aRequestTexts, isLegacyAnswer, readA2aParams } from "./a2a-texts.ts";
export { type OwnCardReading, readOwnCard } from "./own-card.ts";
export { buildPublishedCard, type CardReading, type CardTerms, cardPayloads } from "./published-card.ts";
export { asksForPush } from "./push-notifications.ts";
export {
  A2A_VERSION,
  type A2aArrival,
  type A2aPart,
  type A2aReading,
  type A2aRequest,
  ambiguityInMessage,
  isA2aMethod,
  readA2aRequest,
} from "./read-a2a-request.ts";
