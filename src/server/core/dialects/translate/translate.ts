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
import type {
  AnswerStamp,
  AnswerTerms,
  AnswerTranslation,
  ChannelTerms,
  RequestTranslation,
  StreamTranslation,
} from "./types.ts";

type Model = AnswerTerms["model"];

const TRANSLATIONS: Readonly<
  Record<TranslationDirection, (source: JsonSource, model: Model, channel: ChannelTerms) => RequestTranslation>
> = {
  "chat>messages": (source, model, channel) => {
    const { body, answer, lost } = chatToMessages(source, model, channel);
    return { body, reading: new AnswerTranslator(answer, CHUNKS), lost };
  },
  "messages>chat": (source, model, channel) => {
    const { body, answer } = messagesToChat(source, model, channel);
    return { body, reading: new AnswerTranslator(answer, EVENTS) };
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
export function directionOf(from: Form, to: Form): TranslationDirection | undefined {
  const direction = `${from}>${to}`;
  return isDirection(direction) ? direction : undefined;
}

function isDirection(text: string): text is TranslationDirection {
  return Object.hasOwn(TRANSLATIONS, text);
}

/** Translates a request. Throws `RequestProblem`. */
export function translateRequest(
  direction: TranslationDirection,
  source: JsonSource,
  model: Model,
  channel: ChannelTerms,
): RequestTranslation {
  return TRANSLATIONS[direction](source, model, channel);
}

/**
 * Translations of answers for a client: `whole` of a whole answer, `asStream` of a whole answer to the requested stream,
 * `stream` event by event.
 */
interface AnswerFunctions {
  readonly whole: (body: string, terms: AnswerTerms, stamp: AnswerStamp) => string;
  readonly asStream: (body: string, terms: AnswerTerms, stamp: AnswerStamp) => string;
  readonly stream: (terms: AnswerTerms, stamp: AnswerStamp) => StreamTranslation;
}

const CHUNKS: AnswerFunctions = { whole: messageToChat, asStream: messageAsChunks, stream: openChunkStream };
const EVENTS: AnswerFunctions = { whole: chatToMessage, asStream: chatAsEvents, stream: openEventStream };

/** Implemented as a class, since there is one instance for each request. */
class AnswerTranslator implements AnswerTranslation {
  readonly #terms: AnswerTerms;
  readonly #answers: AnswerFunctions;

  constructor(terms: AnswerTerms, answers: AnswerFunctions) {
    this.#terms = terms;
    this.#answers = answers;
  }

  openStream(stamp: AnswerStamp): StreamTranslation | undefined {
    return this.#terms.streams ? this.#answers.stream(this.#terms, stamp) : undefined;
  }

  translateWhole(body: string, stamp: AnswerStamp, asStream: boolean): string {
    return asStream ? this.#answers.asStream(body, this.#terms, stamp) : this.#answers.whole(body, this.#terms, stamp);
  }
}
