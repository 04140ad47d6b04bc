/**
 * Model dialects `compat`, `messages` and `responses`: routes, usage, translation, and what each can express. Pure.
 *
 * - `answer-texts/`: finds and rewrites the texts of answers
 * - `fidelity/`: what a request uses, and what a channel would lose of it
 * - `json/`: scans and edits JSON without changing its spelling
 * - `request-texts/`: finds and rewrites the texts of requests
 * - `routes/`: table of routes, and the ways in which servers read paths
 * - `translate/`: translation between dialects
 * - `usage/`: reads token usage from answers, streams and sessions
 */

export { errorInBody, errorInEvent, isWebPage, JSON_LINES, WEB_PAGE } from "./answer-error.ts";
export {
  type AnswerTexts,
  applySplices,
  type EventTexts,
  isNullOrAbsent,
  type JsonMember,
  type JsonNode,
  type Media,
  memberOf,
  messageEvent,
  openSessionTexts,
  openStreamTexts,
  parseJsonTree,
  readAnswerTexts,
  type Splice,
  type StreamTexts,
  stringIn,
} from "./answer-texts/index.ts";
export { isForBatch, isFormEncoded, mayBeForBatch, uninspectedReason } from "./batch-file.ts";
export { type AnswerEdits, editEvent, editJson, editWithoutParsing, hasNoUsage } from "./edit-answer.ts";
export {
  CAPABILITY_NAMES,
  type Capability,
  CLAIMABLE_NAMES,
  capabilitiesOf,
  defaultClaims,
  isCapability,
  isClaimable,
  ruleOf,
  type TranslationDirection,
} from "./fidelity/capabilities.ts";
export { evidenceOf, showsEvidence } from "./fidelity/evidence.ts";
export { requestFieldsOf } from "./fidelity/known-fields.ts";
export { lossRefusal, shownModelName } from "./fidelity/loss-message.ts";
export { type Loss, losses, type Uses } from "./fidelity/losses.ts";
export { withoutStripped } from "./fidelity/stripped-fields.ts";
export { usesOf } from "./fidelity/uses/uses.ts";
export { editObject, type ObjectEdits, replaceValue } from "./json/json-edit.ts";
export { type JsonScan, type Member, memberValue, scanObject } from "./json/json-scan.ts";
export { type JsonSource, readJson, Verbatim, writeJson } from "./json/json-source.ts";
export { IMAGE_TOKENS } from "./media-bounds.ts";
export { type ThreadUse, threadUse } from "./message-thread.ts";
export { boundaryOf, findField } from "./multipart.ts";
export { DEFAULT_OUTPUT_BOUND, type RequestBounds, tokenBounds } from "./request-bounds.ts";
export { headerTexts, type MessageText, queryTexts, readTexts } from "./request-texts/index.ts";
export { mayBeReadAs, parametersNamed, replaceParameter } from "./routes/name-readings.ts";
export { isReadAsOneRoute, pathReadings } from "./routes/route-readings.ts";
export {
  type Counterpart,
  type Dialect,
  type Form,
  findRoute,
  isHttpOnly,
  ROUTE_NAMES,
  type Route,
  routeExamples,
  routeKey,
  routeOfKey,
} from "./routes/routes.ts";
export { wrongPathMessage } from "./routes/wrong-paths.ts";
export { createSessionWork } from "./session-work.ts";
export { countEvents, EVENT_NAME, MAX_EVENT_BYTES, replaceData, type SseEvent, SseSplitter } from "./sse.ts";
export { type FoldedForm, foldAnswer } from "./translate/fold-answer.ts";
export { countTokensRequest } from "./translate/input-tokens.ts";
export { mayContainSealed, withoutSealed } from "./translate/sealed-reasoning.ts";
export { responsesFailure } from "./translate/to-responses/response-failure.ts";
export { directionOf, translateRequest } from "./translate/translate.ts";
export { translateError } from "./translate/translate-errors.ts";
export { translateModel, translateModels } from "./translate/translate-models.ts";
export {
  AnswerProblem,
  type AnswerStamp,
  type AnswerTranslation,
  type ReasoningSeal,
  RequestProblem,
  type RequestTranslation,
  type SealedBlock,
  StreamEndedEarly,
  type StreamTranslation,
} from "./translate/types.ts";
export { containsUnsigned, mayContainUnsigned, withoutUnsigned } from "./translate/unsigned-thinking.ts";
export { hasForm, UNINSPECTED, type UninspectedRow } from "./uninspected.ts";
export { addUsage, NO_USAGE, type Usage } from "./usage/usage.ts";
export { createBodyUsage } from "./usage/usage-body.ts";
export { stringValue } from "./usage/usage-member.ts";
export { isDoubtful, normalizeUsage } from "./usage/usage-normalize.ts";
export type { BodyUsage } from "./usage/usage-scan.ts";
export { createSessionUsage, type SessionAnswer } from "./usage/usage-session.ts";
export { createStreamUsage, RESPONSE_ENDS, type StreamUsage } from "./usage/usage-stream.ts";
export { refusalBody, refusalEvent, refusalHeaders, refusalMessage, type StreamStamp } from "./write-refusal.ts";
