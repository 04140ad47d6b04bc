/**
 * Which of a provider's channels carries a request, and what is lost on the way.
 *
 * Source: design decisions, section 6 (choice among channels: no loss first, then own surface, then same dialect, then
 * order of definition); specification document 3 (`channels`, `caps`, `require_caps`, `on_fidelity_loss`).
 */
import { GatewayError } from "../../../../base/index.ts";
import {
  type Counterpart,
  type Dialect,
  holdsUnsigned,
  type Loss,
  losses,
  lossRefusal,
  mayHoldSealed,
  mayHoldUnsigned,
  type Route,
  shownModelName,
  showsEvidence,
  wayOf,
  withoutStripped,
} from "../../../core/dialects/index.ts";
import type { Profile } from "../../../snapshot/index.ts";
import type { Provider, UpstreamChannel } from "../../../upstream/index.ts";
import type { Target } from "./address.ts";

export interface ChosenChannel {
  readonly channel: UpstreamChannel;
  /** What it serves the route by; undefined: the channel is sent the request in its own form. */
  readonly counterpart: Counterpart | undefined;
  /** Of capabilities that the request uses, hard and soft. */
  readonly lost: readonly Loss[];
}

/** Of a history that comes from another provider; a provider of the dialect refuses it, and is sent the rest. */
export const UNSIGNED_THINKING: Loss = { capability: "hint", isHard: false, place: "messages" };

/** Of a history that another channel answered, which alone could open it. */
export const SEALED_THINKING: Loss = { capability: "thinking_replay", isHard: false, place: "input" };

const FOREIGN_SEALS: readonly Loss[] = [SEALED_THINKING];

/** Of a request for a thread that the channel's provider would not hold; it is sent the rest. */
export const NO_THREAD: Loss = { capability: "thread", isHard: false, place: "thread" };

/** What bytes are sent without. */
const PASSING: ReadonlySet<Loss> = new Set([UNSIGNED_THINKING, NO_THREAD, SEALED_THINKING]);

const NOTHING_LOST: readonly Loss[] = [];

/** Of what is lost, what the request is sent without: bytes go as they are, whatever the channel makes of them. */
export function leftOut(lost: readonly Loss[], isTranslated: boolean): readonly Loss[] {
  return isTranslated || lost.length === 0 ? lost : lost.filter((it) => it.isStripped === true || PASSING.has(it));
}

/** `model`: as the provider is sent it. Throws `fidelity_loss` or, where the body must be read for it, `invalid_request`. */
export function chooseChannel(
  provider: Provider,
  target: Target,
  model: string | undefined,
  { requireCaps, budget }: Profile,
): ChosenChannel {
  // What is not told with the request cannot be counted before it is sent.
  const needsHistory = budget !== undefined;
  let best: ChosenChannel | undefined;
  let bestRank = Number.POSITIVE_INFINITY;
  let lacking: string | undefined;
  let isThreadLost = false;
  for (const listed of provider.channels) {
    const served = servedBy(listed, target, model);
    if (served === undefined) continue;
    const counterpart = served === "as_it_is" ? undefined : served;
    const isOther = counterpart !== undefined;
    // Bytes of a client go to the model's maker as they are, who knows best what the model takes of them.
    const isJudged = isOther || !listed.isOwnSurface || requireCaps.length > 0;
    const channel = isJudged && model !== undefined ? listed.forModel(model) : listed;
    const missing = requireCaps.length === 0 ? undefined : requireCaps.find((name) => !channel.claims(name));
    if (missing !== undefined) {
      lacking ??= missing;
      continue;
    }
    if (target.thread === "continue" && (needsHistory || isOther || !channel.claims("thread"))) {
      isThreadLost = true;
      continue;
    }
    const found = lostOn(channel, counterpart, target);
    const lost = withRequired(strippedOf(provider, found, counterpart, target), requireCaps);
    const rank = rankOf(channel, { isOther, isSecondChoice: isOther && target.route.form === "responses" }, lost);
    if (rank === 0) return { channel, counterpart, lost };
    if (rank >= bestRank) continue;
    bestRank = rank;
    best = { channel, counterpart, lost };
  }
  if (best === undefined) throw isThreadLost ? noThread(needsHistory) : noChannel(provider, target, lacking);
  const isAllowed = ({ capability }: Loss): boolean =>
    provider.onFidelityLoss === "allow" && !requireCaps.includes(capability);
  const refusing = best.lost.filter((loss) => loss.isHard && !isAllowed(loss));
  if (refusing.length > 0) throw wouldLose(provider, target, best.counterpart, { refusing, required: requireCaps });
  return best;
}

/** What the operator has taken out refuses nothing. */
function strippedOf(
  { strippedFields: stripped }: Provider,
  lost: readonly Loss[],
  counterpart: Counterpart | undefined,
  { content }: Target,
): readonly Loss[] {
  if (stripped === undefined || content === undefined) return lost;
  const { form } = content;
  return withoutStripped(lost, { form, to: counterpart?.form ?? form, request: content.source.value, stripped });
}

/** What the caller's profile requires is no hint to it, in whatever form it would be lost. */
function withRequired(lost: readonly Loss[], required: readonly string[]): readonly Loss[] {
  if (required.length === 0 || lost.length === 0) return lost;
  return lost.map((loss) => (required.includes(loss.capability) ? { ...loss, isHard: true } : loss));
}

/** Whether a channel of the provider serves the route for some model, in whatever form. */
export const couldServe = ({ channels }: Provider, route: Route, dialect: Dialect): boolean =>
  channels.some((channel) => servedBy(channel, { route, dialect }, undefined) !== undefined);

/** Undefined: the channel does not serve the route. */
export function servedBy(
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

function lostOn(channel: UpstreamChannel, counterpart: Counterpart | undefined, target: Target): readonly Loss[] {
  const isOther = counterpart !== undefined;
  const lost = lostOf(channel, counterpart, target);
  // Where the provider holds no threads, `create` would be refused as a field that it does not know.
  const isLeftOut = !isOther && target.thread === "create" && !channel.claims("thread");
  return isLeftOut ? [...lost.filter(({ capability }) => capability !== "thread"), NO_THREAD] : lost;
}

function lostOf(
  channel: UpstreamChannel,
  counterpart: Counterpart | undefined,
  { content, plain, dialect }: Target,
): readonly Loss[] {
  if (content === undefined) return NOTHING_LOST;
  // Whoever serves responses itself is sent them as they are, and keeps what they ask of it.
  if (counterpart === undefined && content.form === "responses")
    return mayHoldSealed(plain) ? FOREIGN_SEALS : NOTHING_LOST;
  const to = counterpart?.form ?? content.form;
  const way = wayOf(content.form, to);
  const isOther = way !== undefined;
  if (!isOther && dialect === "messages" && mayHoldUnsigned(plain) && holdsUnsigned(content.source.value)) {
    return [...losses(content.usesTo(to), way, channel), UNSIGNED_THINKING];
  }
  const { lossEvidence } = channel;
  if (!isOther && lossEvidence !== undefined && !showsEvidence(plain, lossEvidence)) return NOTHING_LOST;
  return losses(content.usesTo(to), way, channel);
}

/** Who serves responses itself keeps what others cannot: it comes first, whatever is lost there. */
const SECOND_CHOICE = 16;

/** Lower is better; channels of one rank go by the order in which they are defined. */
function rankOf(
  { isOwnSurface }: UpstreamChannel,
  { isOther, isSecondChoice }: { readonly isOther: boolean; readonly isSecondChoice: boolean },
  lost: readonly Loss[],
): number {
  const loss = lost.length === 0 ? 0 : lost.some(({ isHard }) => isHard) ? 2 : 1;
  return loss * 4 + (isOwnSurface ? 0 : 2) + (isOther ? 1 : 0) + (isSecondChoice ? SECOND_CHOICE : 0);
}

const SEND_ALL = "send the whole conversation as `input`, or ask for another model";
const COUNT_SELF = "count by the `usage` of answers, or ask for another model";

/** Beside a route that others serve too: what they have not that these need, and what there is to do. */
const NEEDS: ReadonlyMap<string, { readonly param: string; readonly advice: string }> = new Map([
  ["responses_compact", { param: "compaction", advice: "ask for a summary by a request of its own, or another model" }],
  ["conversations", { param: "stored_responses", advice: SEND_ALL }],
  ["responses_item", { param: "stored_responses", advice: SEND_ALL }],
  ["responses_input_tokens", { param: "count_tokens", advice: COUNT_SELF }],
  ["responses_ws", { param: "responses", advice: "send `POST /v1/responses`, or ask for another model" }],
]);

function noChannel({ name }: Provider, { route, dialect, model }: Target, lacking: string | undefined): GatewayError {
  const asked = model === undefined ? "" : ` for ${shownModelName(model)}`;
  const none = `Provider ${name} has no channel${asked} on the ${route.name} route of the ${dialect} dialect`;
  const { param = route.capability || route.name, advice = "ask for another model" } = NEEDS.get(route.name) ?? {};
  return lacking === undefined
    ? new GatewayError("fidelity_loss", `${none}: ${advice}.`, { param })
    : new GatewayError(
        "fidelity_loss",
        `${none} that has ${lacking}, which the caller's profile requires: ask for another model.`,
        { param: lacking },
      );
}

function wouldLose(
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

/** The official SDK sends the whole conversation then, as a new thread or as none. */
function noThread(needsHistory: boolean): GatewayError {
  const why = needsHistory
    ? "The caller's budget must see the whole conversation"
    : "The provider of this model holds no message threads";
  return new GatewayError(
    "thread_not_found",
    `${why}: send all of its messages, with \`thread: {"type": "create"}\` or without \`thread\`.`,
    { param: "thread" },
  );
}
