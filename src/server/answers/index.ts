/** Inspects the bodies of model answers, for every transport: determines their kind and the bytes that may be shown. */

export { type AnswerType, type BodyKind, kindOf, mediaOf, typeOf } from "./answer-body.ts";
export { type AnswerContext, AnswerEvents } from "./answer-events.ts";
export { type InspectedBody, inspectWhole } from "./inspect-whole.ts";
export { HEARTBEAT_COMMENT, UnreadableAnswer } from "./inspected-event.ts";
export { inspectStream } from "./inspected-stream.ts";
export { JoinedMessages } from "./joined-messages.ts";
export type { ReadMessage } from "./message-stream.ts";
export { BODY_DIGEST_HEADERS, type BodyChange, isBodiless, withUtf8Charset } from "./rewrite-headers.ts";
export type { InspectedStream } from "./stream-ports.ts";
