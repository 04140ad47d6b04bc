/** Builds the translated request for a channel of another dialect, and the reader of its answer. */
import { GatewayError } from "../../../../base/index.ts";
import {
  type AnswerTranslation,
  type Counterpart,
  countTokensRequest,
  directionOf,
  findRoute,
  type Loss,
  type ReasoningSeal,
  RequestProblem,
  type RequestTranslation,
  type Route,
  translateModel,
  translateModels,
  translateRequest,
} from "../../../core/dialects/index.ts";
import type { Provider, UpstreamChannel } from "../../../upstream/index.ts";
import type { SealBinding } from "../../responses/index.ts";
import type { RequestContent } from "./request-content.ts";
import { pathWithModel, type Target } from "./resolve-target.ts";

export interface TranslatedCall {
  /** Route in the channel's dialect. */
  readonly route: Route;
  /** Path in the channel's dialect, without a query. */
  readonly path: string;
  /** Body as JSON text; empty if the request has none. */
  readonly body: Buffer;
  readonly answerReader: AnswerTranslation;
}

const NO_BODY = Buffer.alloc(0);
const NOTHING: readonly Loss[] = [];

/** Provider, channel and route that a translated request is sent to. */
interface Recipient {
  readonly provider: Provider;
  readonly channel: UpstreamChannel;
  readonly counterpart: Counterpart;
  /** Model as sent to the provider. */
  readonly model: string | undefined;
}

interface TranslationResult {
  readonly call: TranslatedCall;
  /** Losses that were only found while translating. */
  readonly lateLosses: readonly Loss[];
}

/** Returns the seal of the caller's reasoning, bound to the model that answers. */
export type CreateSeal = (answering: Pick<SealBinding, "form" | "maker" | "model">) => ReasoningSeal;

/** Translates a request. Throws `invalid_request`. */
export function translateCall(target: Target, to: Recipient, sealing?: CreateSeal): TranslationResult {
  const { route, content } = target;
  const path = to.counterpart.path ?? pathWithModel(target, to.model);
  if (content === undefined)
    return { call: { route, path, body: NO_BODY, answerReader: modelsAnswerReader(target) }, lateLosses: NOTHING };
  const { body, reading: answerReader, lost = NOTHING } = translateContent(target, content, to, sealing);
  return {
    call: { route: findRoute("POST", path) ?? route, path, body: Buffer.from(body), answerReader },
    lateLosses: lost,
  };
}

function translateContent(
  { model: asked = "", route }: Target,
  { source, form }: RequestContent,
  { provider, channel, counterpart, model }: Recipient,
  sealing: CreateSeal | undefined,
): RequestTranslation {
  const to = counterpart.form ?? form;
  const way = directionOf(form, to);
  if (way === undefined) throw new Error("the chosen channel has no translation");
  const { acceptsStreamUsage, endUserField, signsCalls } = provider;
  const sent = model ?? asked;
  const seal = sealing?.({ form: to, maker: provider.maker, model: sent });
  const terms = { claims: channel.claims, endUserField, signsCalls, acceptsStreamUsage, seal };
  try {
    const made = translateRequest(way, source, { sent, requested: asked }, terms);
    return route.name === "responses_input_tokens" ? countTokensRequest(made) : made;
  } catch (error) {
    if (!(error instanceof RequestProblem)) throw error;
    throw new GatewayError("invalid_request", `${error.param} ${error.message}.`, { param: error.param });
  }
}

function modelsAnswerReader({ route, dialect, query }: Target): AnswerTranslation {
  return {
    openStream: () => undefined,
    translateWhole: (body) =>
      route.name === "models" ? translateModels(dialect, body, query) : translateModel(dialect, body),
  };
}
