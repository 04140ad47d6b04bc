export { type AnswerEdits, editEvent, editJson, editUnread, tellsNoUsage } from "./answer.ts";
export { errorIn, errorInBody, errorInEvent } from "./answer-error.ts";
export {
  type AnswerText,
  type AnswerTexts,
  type EventTexts,
  isNothing,
  type Media,
  memberOf,
  messageEvent,
  openSessionTexts,
  openStreamTexts,
  type Placed,
  type PlacedMember,
  placedIn,
  readAnswerTexts,
  type Splice,
  type StreamTexts,
  spliced,
  stringIn,
  type TextPiece,
} from "./answer-texts/index.ts";
export { isFormEncoded, mayNameBatch, namesBatch, type Upload, unreadTexts } from "./batch-file.ts";
export {
  CAPABILITY_NAMES,
  type Capability,
  CLAIMABLE_NAMES,
  claimableIn,
  isCapability,
  isClaimable,
  ruleOf,
  usableIn,
  type Way,
} from "./fidelity/capabilities.ts";
export { evidenceOf, showsEvidence } from "./fidelity/evidence.ts";
export { requestFieldsOf } from "./fidelity/known-fields.ts";
export { type Loss, losses, type Uses } from "./fidelity/losses.ts";
export { type LossRefusal, lossRefusal, shownModelName } from "./fidelity/refusal-words.ts";
export { withoutStripped } from "./fidelity/stripped-fields.ts";
export { usesOf } from "./fidelity/uses.ts";
export { editObject, type ObjectEdits, replaceValue } from "./json-edit.ts";
export { type JsonScan, type Member, memberValue, scanObject } from "./json-scan.ts";
export { type JsonSource, readJson, Verbatim, writeJson } from "./json-source.ts";
export { IMAGE_TOKENS } from "./media-bounds.ts";
export { type ThreadUse, threadUse } from "./message-thread.ts";
export { boundaryOf, type FormField, findField } from "./multipart.ts";
export { isAlike, parametersNamed, withParameter } from "./readings.ts";
export { refusalBody, refusalEvent, refusalHeaders, refusalMessage, type StreamStamp } from "./refusal.ts";
export { DEFAULT_OUTPUT_BOUND, type RequestBounds, tokenBounds } from "./request-bounds.ts";
export {
  type EnvelopeText,
  headerTexts,
  type MessageText,
  queryTexts,
  type RequestTexts,
  readTexts,
  type TextBody,
  type TextKind,
} from "./request-texts/index.ts";
export { isReadAlike, pathReadings } from "./route-readings.ts";
export {
  type Counterpart,
  type Dialect,
  type Form,
  findRoute,
  isOtherProtocol,
  type ModelPlace,
  ROUTE_NAMES,
  type Route,
  type RouteExample,
  type RouteGuard,
  routeExamples,
  routeKey,
  routeOfKey,
  type UsagePlace,
} from "./routes.ts";
export { createSessionWork, type SessionWork } from "./session-work.ts";
export { countEvents, EVENT_NAME, MAX_EVENT_BYTES, replaceData, type SseEvent, SseSplitter } from "./sse.ts";
export { translateError } from "./translate/errors.ts";
export { type FoldedForm, foldAnswer } from "./translate/fold-answer.ts";
export { counting } from "./translate/input-tokens.ts";
export { translateModel, translateModels } from "./translate/models.ts";
export { mayHoldSealed, withoutSealed } from "./translate/sealed-reasoning.ts";
export { responsesFailure } from "./translate/to-responses/failure.ts";
export { translateRequest, wayOf } from "./translate/translate.ts";
export {
  AnswerProblem,
  type AnswerReading,
  type AnswerStamp,
  EarlyEnd,
  type ReasoningSeal,
  RequestProblem,
  type SealedBlock,
  type StreamTranslation,
  type Translated,
} from "./translate/types.ts";
export { holdsUnsigned, mayHoldUnsigned, withoutUnsigned } from "./translate/unsigned-thinking.ts";
export { isWrittenAs, UNINSPECTED, type UninspectedRow } from "./uninspected.ts";
export { addUsage, NO_USAGE, type Usage } from "./usage.ts";
export { createBodyUsage } from "./usage-body.ts";
export { stringValue } from "./usage-member.ts";
export { isDoubtful, normaliseUsage } from "./usage-normalise.ts";
export type { BodyUsage } from "./usage-scan.ts";
export { createSessionUsage, type SessionAnswer, type SessionUsage } from "./usage-session.ts";
export { createStreamUsage, RESPONSE_ENDS, type StreamUsage } from "./usage-stream.ts";
export { wrongPathMessage } from "./wrong-paths.ts";
