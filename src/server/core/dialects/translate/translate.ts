/** The way from a dialect to the other, whichever it is. `to`: the dialect of what is made. */
import type { JsonSource } from "../json-source.ts";
import type { Dialect } from "../routes.ts";
import { messageAsChunks, messageToChat } from "./to-compat/answer.ts";
import { messagesToChat } from "./to-compat/request.ts";
import { openChunkStream } from "./to-compat/stream.ts";
import { chatAsEvents, chatToMessage } from "./to-messages/answer.ts";
import { chatToMessages } from "./to-messages/request.ts";
import { openEventStream } from "./to-messages/stream.ts";
import type { AnswerStamp, AnswerTerms, ChannelTerms, StreamTranslation, TranslatedRequest } from "./types.ts";

/** Throws `RequestProblem`. */
export function translateRequest(
  to: Dialect,
  source: JsonSource,
  model: AnswerTerms["model"],
  channel: ChannelTerms,
): TranslatedRequest {
  return to === "messages" ? chatToMessages(source, model, channel) : messagesToChat(source, model, channel);
}

/** A whole answer. Throws `AnswerProblem`. */
export function translateAnswer(body: string, terms: AnswerTerms, stamp: AnswerStamp): string {
  return terms.client === "compat" ? messageToChat(body, terms, stamp) : chatToMessage(body, terms, stamp);
}

/** A whole answer as the stream that was asked for. Throws `AnswerProblem`. */
export function answerAsStream(body: string, terms: AnswerTerms, stamp: AnswerStamp): string {
  return terms.client === "compat" ? messageAsChunks(body, terms, stamp) : chatAsEvents(body, terms, stamp);
}

export function openTranslation(terms: AnswerTerms, stamp: AnswerStamp): StreamTranslation {
  return terms.client === "compat" ? openChunkStream(terms, stamp) : openEventStream(terms, stamp);
}
