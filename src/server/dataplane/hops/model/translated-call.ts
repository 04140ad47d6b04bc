/** A request for a channel of the other dialect, translated when that is chosen, and how its answer is read back. */
import { GatewayError } from "../../../../base/index.ts";
import {
  type AnswerStamp,
  type AnswerTerms,
  answerAsStream,
  findRoute,
  openTranslation,
  RequestProblem,
  type Route,
  type StreamTranslation,
  type TranslatedRequest,
  translateAnswer,
  translateModel,
  translateModels,
  translateRequest,
} from "../../../core/dialects/index.ts";
import type { Provider, UpstreamChannel } from "../../../upstream/index.ts";
import type { Target } from "./address.ts";
import type { RequestContent } from "./request-content.ts";

/** How the answer to a translated request becomes the client's. `stamp` is made when the answer begins. */
export interface AnswerReading {
  /** Undefined: no stream was asked for. */
  stream(stamp: AnswerStamp): StreamTranslation | undefined;
  /** Throws `AnswerProblem`. `asStream`: a whole answer where a stream was asked for. */
  whole(body: string, stamp: AnswerStamp, asStream: boolean): string;
}

export interface TranslatedCall {
  /** Of the channel's dialect. */
  readonly route: Route;
  /** Without a query, as the channel's dialect has it. */
  readonly path: string;
  /** JSON text; empty where the request has none. */
  readonly body: Buffer;
  readonly reading: AnswerReading;
}

const NO_BODY = Buffer.alloc(0);

/** `model`: as the provider is sent it. Throws `invalid_request`. */
export function translateCall(
  target: Target,
  provider: Provider,
  channel: UpstreamChannel,
  model: string | undefined,
): TranslatedCall {
  const { route, content } = target;
  const path = route.counterpart?.path ?? target.path;
  if (content === undefined) return { route, path, body: NO_BODY, reading: readingOfModels(target) };
  const { body, answer } = translated(target, content, provider, channel, model);
  return {
    route: findRoute("POST", path) ?? route,
    path,
    body: Buffer.from(body),
    reading: new ChatReading(answer),
  };
}

function translated(
  { model: asked = "" }: Target,
  { source }: RequestContent,
  { acceptsStreamUsage, endUserField }: Provider,
  { claims, dialect }: UpstreamChannel,
  model: string | undefined,
): TranslatedRequest {
  const terms = { claims, endUserField, acceptsStreamUsage };
  try {
    return translateRequest(dialect, source, { sent: model ?? asked, asked }, terms);
  } catch (error) {
    if (!(error instanceof RequestProblem)) throw error;
    throw new GatewayError("invalid_request", `${error.param} ${error.message}.`, { param: error.param });
  }
}

function readingOfModels({ route, dialect, query }: Target): AnswerReading {
  return {
    stream: () => undefined,
    whole: (body) => (route.name === "models" ? translateModels(dialect, body, query) : translateModel(dialect, body)),
  };
}

class ChatReading implements AnswerReading {
  readonly #terms: AnswerTerms;

  constructor(terms: AnswerTerms) {
    this.#terms = terms;
  }

  stream(stamp: AnswerStamp): StreamTranslation | undefined {
    return this.#terms.streams ? openTranslation(this.#terms, stamp) : undefined;
  }

  whole(body: string, stamp: AnswerStamp, asStream: boolean): string {
    return asStream ? answerAsStream(body, this.#terms, stamp) : translateAnswer(body, this.#terms, stamp);
  }
}
