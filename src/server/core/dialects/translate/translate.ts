/** Selects the translation of requests and answers between two forms. */
import type { TranslationDirection } from "../fidelity/capabilities.ts";
import type { JsonSource } from "../json/json-source.ts";
import type { Form } from "../routes/routes.ts";
import { responsesToChat, responsesToMessages } from "./from-responses/request.ts";
import { openChunkStream } from "./to-compat/chunk-stream.ts";
import { messageAsChunks, messageToChat } from "./to-compat/message-to-chat.ts";
import { messagesToChat } from "./to-compat/request.ts";
import { chatAsEvents, chatToMessage } from "./to-messages/chat-to-message.ts";
import { openEventStream } from "./to-messages/event-stream.ts";
import { chatToMessages } from "./to-messages/request.ts";
import { responsesReading } from "./to-responses/answer-to-response.ts";
import type { AnswerReading, AnswerStamp, AnswerTerms, ChannelTerms, StreamTranslation, Translated } from "./types.ts";

type Model = AnswerTerms["model"];

const WAYS: Readonly<
  Record<TranslationDirection, (source: JsonSource, model: Model, channel: ChannelTerms) => Translated>
> = {
  "chat>messages": (source, model, channel) => {
    const { body, answer, lost } = chatToMessages(source, model, channel);
    return { body, reading: new ReadAnswer(answer, CHUNKS), lost };
  },
  "messages>chat": (source, model, channel) => {
    const { body, answer } = messagesToChat(source, model, channel);
    return { body, reading: new ReadAnswer(answer, EVENTS) };
  },
  "responses>messages": (source, model, channel) => {
    const { body, answer, lost } = responsesToMessages(source, model, channel);
    return { body, reading: responsesReading("messages", answer), lost };
  },
  "responses>chat": (source, model, channel) => {
    const { body, answer, lost } = responsesToChat(source, model, channel);
    return { body, reading: responsesReading("chat", answer), lost };
  },
};

/** Returns the direction of the translation between two forms, or `undefined` if they are equal or there is no translation. */
export function wayOf(from: Form, to: Form): TranslationDirection | undefined {
  const way = `${from}>${to}`;
  return isWay(way) ? way : undefined;
}

function isWay(way: string): way is TranslationDirection {
  return Object.hasOwn(WAYS, way);
}

/** Translates a request. Throws `RequestProblem`. */
export function translateRequest(
  way: TranslationDirection,
  source: JsonSource,
  model: Model,
  channel: ChannelTerms,
): Translated {
  return WAYS[way](source, model, channel);
}

/**
 * Translations of answers for a client: `whole` of a whole answer, `asStream` of a whole answer to the requested stream,
 * `stream` event by event.
 */
interface Answers {
  readonly whole: (body: string, terms: AnswerTerms, stamp: AnswerStamp) => string;
  readonly asStream: (body: string, terms: AnswerTerms, stamp: AnswerStamp) => string;
  readonly stream: (terms: AnswerTerms, stamp: AnswerStamp) => StreamTranslation;
}

const CHUNKS: Answers = { whole: messageToChat, asStream: messageAsChunks, stream: openChunkStream };
const EVENTS: Answers = { whole: chatToMessage, asStream: chatAsEvents, stream: openEventStream };

/** Implemented as a class, since there is one instance for each request. */
class ReadAnswer implements AnswerReading {
  readonly #terms: AnswerTerms;
  readonly #answers: Answers;

  constructor(terms: AnswerTerms, answers: Answers) {
    this.#terms = terms;
    this.#answers = answers;
  }

  stream(stamp: AnswerStamp): StreamTranslation | undefined {
    return this.#terms.streams ? this.#answers.stream(this.#terms, stamp) : undefined;
  }

  whole(body: string, stamp: AnswerStamp, asStream: boolean): string {
    return asStream ? this.#answers.asStream(body, this.#terms, stamp) : this.#answers.whole(body, this.#terms, stamp);
  }
}
