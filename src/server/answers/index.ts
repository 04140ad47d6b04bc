/** Inspects the bodies of model answers, for every transport: determines their kind and the bytes that may be shown. */

export { type AnswerType, type BodyKind, kindOf, mediaOf, typeOf } from "./answer-body.ts";
export { AnswerEvents, type Answered } from "./answer-events.ts";
export { SIGN_OF_LIFE, UnreadableAnswer } from "./inspected-event.ts";
export { inspectStream } from "./inspected-stream.ts";
export { JoinedMessages } from "./joined-messages.ts";
export { judgedWhole, type MadeAnswer } from "./judged-whole.ts";
export type { MessageTexts, ReadMessage } from "./message-stream.ts";
export { HEADERS_OF_THE_BODY, inUtf8, isBodiless, type Mending } from "./rewrite-headers.ts";
export type { InspectedStream } from "./stream-ports.ts";
