/**
 * Chooses the channel of a provider that serves a request, and determines which capabilities are lost on it.
 *
 * Source: design decisions, section 6 (choice among channels: no loss first, then own surface, then same dialect, then order of
 * definition); specification document 3 (`channels`, `caps`, `require_caps`, `on_fidelity_loss`).
 */
import { GatewayError } from "../../../../base/index.ts";
import {
  type Counterpart,
  containsUnsigned,
  type Dialect,
  directionOf,
  type Loss,
  losses,
  lossRefusal,
  mayContainSealed,
  mayContainUnsigned,
  type Route,
  shownModelName,
  showsEvidence,
  withoutStripped,
} from "../../../core/dialects/index.ts";
import type { Profile } from "../../../snapshot/index.ts";
import type { Provider, UpstreamChannel } from "../../../upstream/index.ts";
import type { Target } from "./resolve-target.ts";

interface ChosenChannel {
  readonly channel: UpstreamChannel;
  /** Route by which the channel serves the request after translation; `undefined` if the request is sent in its own form. */
  readonly counterpart: Counterpart | undefined;
  /** Capabilities that the request uses and that are lost, hard and soft. */
  readonly losses: readonly Loss[];
}

/**
 * Loss of unsigned thinking that another provider left in the history. Providers of the messages dialect refuse it, so the
 * request is sent without it.
 */
export const UNSIGNED_THINKING: Loss = { capability: "hint", isHard: false, place: "messages" };

/** Loss of reasoning that another channel sealed, which only that channel could open. */
export const SEALED_THINKING: Loss = { capability: "thinking_replay", isHard: false, place: "input" };

const FOREIGN_SEALS: readonly Loss[] = [SEALED_THINKING];

/** Loss of a thread that the channel's provider does not keep: the request is sent without it. */
export const NO_THREAD: Loss = { capability: "thread", isHard: false, place: "thread" };

/** Losses that also apply to requests that are not translated. */
const ALSO_UNTRANSLATED: ReadonlySet<Loss> = new Set([UNSIGNED_THINKING, NO_THREAD, SEALED_THINKING]);

const NO_LOSSES: readonly Loss[] = [];

/**
 * Returns the losses that are removed from the request. Apart from these, an untranslated request is sent unchanged, whatever the
 * channel supports.
 */
export function removedLosses(lost: readonly Loss[], isTranslated: boolean): readonly Loss[] {
  return isTranslated || lost.length === 0
    ? lost
    : lost.filter((it) => it.isStripped === true || ALSO_UNTRANSLATED.has(it));
}

/**
 * Returns the best channel. `model`: model name sent to the provider. Throws `fidelity_loss`, `thread_not_found` or, if the body
 * must be parsed, `invalid_request`.
 */
export function chooseChannel(
  provider: Provider,
  target: Target,
  model: string | undefined,
  profile: Profile,
): ChosenChannel {
  let best: Extract<Candidacy, { kind: "serves" }> | undefined;
  let missingCapability: string | undefined;
  let isThreadLost = false;
  for (const channel of provider.channels) {
    const candidacy = judgeChannel(channel, { provider, target, model, profile });
    if (candidacy === undefined) continue;
    if (candidacy.kind === "lacks") missingCapability ??= candidacy.capability;
    else if (candidacy.kind === "loses_thread") isThreadLost = true;
    else if (candidacy.rank === 0) return candidacy.chosen;
    else if (best === undefined || candidacy.rank < best.rank) best = candidacy;
  }
  if (best === undefined) {
    throw isThreadLost
      ? threadError(profile.budget !== undefined)
      : noChannelError(provider, target, missingCapability);
  }
  refuseHardLosses(best.chosen, provider, target, profile.requireCaps);
  return best.chosen;
}

interface ChannelQuestion {
  readonly provider: Provider;
  readonly target: Target;
  readonly model: string | undefined;
  readonly profile: Profile;
}

/** Result for a channel that serves the route. `lacks`: it has not every capability that the profile requires. */
type Candidacy =
  | { readonly kind: "serves"; readonly chosen: ChosenChannel; readonly rank: number }
  | { readonly kind: "lacks"; readonly capability: string }
  | { readonly kind: "loses_thread" };

/** Returns `undefined` for a channel that does not serve the route. */
function judgeChannel(
  listed: UpstreamChannel,
  { provider, target, model, profile: { requireCaps, budget } }: ChannelQuestion,
): Candidacy | undefined {
  const served = waysToServe(listed, target, model);
  if (served === undefined) return undefined;
  const counterpart = served === "as_it_is" ? undefined : served;
  const isTranslated = counterpart !== undefined;
  // The model's maker gets untranslated requests unchecked, because it knows which fields the model accepts.
  const isJudged = isTranslated || !listed.isOwnSurface || requireCaps.length > 0;
  const channel = isJudged && model !== undefined ? listed.forModel(model) : listed;
  const missing = requireCaps.find((name) => !channel.claims(name));
  if (missing !== undefined) return { kind: "lacks", capability: missing };
  // With a budget, messages of a thread that are not part of the request could not be counted before it is sent.
  if (target.thread === "continue" && (budget !== undefined || isTranslated || !channel.claims("thread"))) {
    return { kind: "loses_thread" };
  }
  const found = lossesOn(channel, counterpart, target);
  const lost = withRequired(withoutStrippedFields(provider, found, counterpart, target), requireCaps);
  const isSecondChoice = isTranslated && target.route.form === "responses";
  const rank = rankOf(channel, { isOther: isTranslated, isSecondChoice }, lost);
  return { kind: "serves", chosen: { channel, counterpart, losses: lost }, rank };
}

/** Throws `fidelity_loss` for hard losses that the operator does not allow, or the profile forbids. */
function refuseHardLosses(
  { counterpart, losses: lost }: ChosenChannel,
  provider: Provider,
  target: Target,
  required: readonly string[],
): void {
  const isAllowed = ({ capability }: Loss): boolean =>
    provider.onFidelityLoss === "allow" && !required.includes(capability);
  const refusing = lost.filter((loss) => loss.isHard && !isAllowed(loss));
  if (refusing.length > 0) throw fidelityError(provider, target, counterpart, { refusing, required });
}

/** Returns the losses of the request without the fields that the operator strips, which must not cause a refusal. */
function withoutStrippedFields(
  { strippedFields: stripped }: Provider,
  lost: readonly Loss[],
  counterpart: Counterpart | undefined,
  { content }: Target,
): readonly Loss[] {
  if (stripped === undefined || content === undefined) return lost;
  const { form } = content;
  return withoutStripped(lost, { form, to: counterpart?.form ?? form, request: content.source.value, stripped });
}

/** Marks losses of capabilities that the profile requires as hard. */
function withRequired(lost: readonly Loss[], required: readonly string[]): readonly Loss[] {
  if (required.length === 0 || lost.length === 0) return lost;
  return lost.map((loss) => (required.includes(loss.capability) ? { ...loss, isHard: true } : loss));
}

/** Returns whether any channel of the provider serves the route for some model, translated or not. */
export const mayServeRoute = ({ channels }: Provider, route: Route, dialect: Dialect): boolean =>
  channels.some((channel) => waysToServe(channel, { route, dialect }, undefined) !== undefined);

/** Returns how the channel serves the route, or `undefined` if it does not. */
export function waysToServe(
  channel: UpstreamChannel,
  { route, dialect }: Pick<Target, "route" | "dialect">,
  model: string | undefined,
): Counterpart | "as_it_is" | undefined {
  if (channel.servesModel !== undefined && model !== undefined && !channel.servesModel(model)) return undefined;
  const isOwn = channel.dialect === dialect;
  if (isOwn && (route.capability === "" || channel.claims(route.capability))) return "as_it_is";
  return route.counterparts.find(
    (it) => (it.dialect === undefined ? !isOwn : it.dialect === channel.dialect) && channel.claims(it.capability),
  );
}

function lossesOn(channel: UpstreamChannel, counterpart: Counterpart | undefined, target: Target): readonly Loss[] {
  const isOther = counterpart !== undefined;
  const lost = contentLosses(channel, counterpart, target);
  // A provider without threads would refuse `create` as an unknown field.
  const isLeftOut = !isOther && target.thread === "create" && !channel.claims("thread");
  return isLeftOut ? [...lost.filter(({ capability }) => capability !== "thread"), NO_THREAD] : lost;
}

function contentLosses(
  channel: UpstreamChannel,
  counterpart: Counterpart | undefined,
  { content, plain, dialect }: Target,
): readonly Loss[] {
  if (content === undefined) return NO_LOSSES;
  // A provider with a native Responses API gets the request unchanged and supports whatever it uses.
  if (counterpart === undefined && content.form === "responses")
    return mayContainSealed(plain) ? FOREIGN_SEALS : NO_LOSSES;
  const to = counterpart?.form ?? content.form;
  const way = directionOf(content.form, to);
  const isOther = way !== undefined;
  if (!isOther && dialect === "messages" && mayContainUnsigned(plain) && containsUnsigned(content.source.value)) {
    return [...losses(content.usesTo(to), way, channel), UNSIGNED_THINKING];
  }
  const { lossEvidence } = channel;
  if (!isOther && lossEvidence !== undefined && !showsEvidence(plain, lossEvidence)) return NO_LOSSES;
  return losses(content.usesTo(to), way, channel);
}

/**
 * Rank penalty for translating a Responses request. A channel with a native Responses API keeps state that others cannot, so it
 * comes first regardless of losses.
 */
const TRANSLATED_RESPONSES_RANK = 16;

/** Returns the rank of a channel. Lower is better; ties are resolved by the order of definition. */
function rankOf(
  { isOwnSurface }: UpstreamChannel,
  { isOther, isSecondChoice }: { readonly isOther: boolean; readonly isSecondChoice: boolean },
  lost: readonly Loss[],
): number {
  const loss = lost.length === 0 ? 0 : lost.some(({ isHard }) => isHard) ? 2 : 1;
  return loss * 4 + (isOwnSurface ? 0 : 2) + (isOther ? 1 : 0) + (isSecondChoice ? TRANSLATED_RESPONSES_RANK : 0);
}

const OTHER_MODEL = "ask for another model";
const OTHER_DEFAULT =
  "requests without a model go to the default provider, so set `default_provider` to one that has it";
const SEND_ALL = "send the whole conversation as `input`, or ask for another model";
const COUNT_SELF = "count tokens with the `usage` of answers, or ask for another model";

/** Missing capability and advice, for routes that only some channels serve. */
const ROUTE_NEEDS: ReadonlyMap<string, { readonly param: string; readonly advice: string }> = new Map([
  [
    "responses_compact",
    { param: "compaction", advice: "ask for a summary in a separate request, or ask for another model" },
  ],
  ["conversations", { param: "stored_responses", advice: SEND_ALL }],
  ["responses_item", { param: "stored_responses", advice: SEND_ALL }],
  ["responses_input_tokens", { param: "count_tokens", advice: COUNT_SELF }],
  ["responses_ws", { param: "responses", advice: "use `POST /v1/responses`, or ask for another model" }],
]);

function noChannelError(
  { name }: Provider,
  { route, dialect, model }: Target,
  lacking: string | undefined,
): GatewayError {
  const asked = model === undefined ? "" : ` for ${shownModelName(model)}`;
  const none = `Provider ${name} has no channel${asked} on the ${route.name} route of the ${dialect} dialect`;
  const remedy = model === undefined ? OTHER_DEFAULT : OTHER_MODEL;
  const { param = route.capability || route.name, advice = remedy } = ROUTE_NEEDS.get(route.name) ?? {};
  return lacking === undefined
    ? new GatewayError("fidelity_loss", `${none}: ${advice}.`, { param })
    : new GatewayError(
        "fidelity_loss",
        `${none} that has ${lacking}, which the caller's profile requires: ${remedy}.`,
        { param: lacking },
      );
}

function fidelityError(
  { name }: Provider,
  { content, route, model = "" }: Target,
  counterpart: Counterpart | undefined,
  { refusing, required }: { readonly refusing: readonly Loss[]; readonly required: readonly string[] },
): GatewayError {
  const form = route.form ?? "chat";
  const { message, param } = lossRefusal(refusing, {
    form,
    to: counterpart?.form ?? form,
    request: content?.source.value,
    model,
    provider: name,
    required,
  });
  return new GatewayError("fidelity_loss", message, { param });
}

/**
 * Returns the refusal of a thread. On this code the official SDK sends the whole conversation again, as a new thread or without a
 * thread.
 */
function threadError(needsHistory: boolean): GatewayError {
  const reason = needsHistory
    ? "The caller's budget must see the whole conversation"
    : "The provider of this model does not store message threads";
  return new GatewayError(
    "thread_not_found",
    `${reason}: send all of its messages, with \`thread: {"type": "create"}\` or without \`thread\`.`,
    { param: "thread" },
  );
}
