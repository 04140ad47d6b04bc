/**
 * Which of a provider's channels carries a request, and what is lost on the way.
 *
 * Source: design decisions, section 6 (choice among channels: no loss first, then own surface, then same dialect, then
 * order of definition); specification document 3 (`channels`, `caps`, `require_caps`, `on_fidelity_loss`).
 */
import { GatewayError } from "../../../../base/index.ts";
import { holdsUnsigned, type Loss, losses, mayHoldUnsigned, showsEvidence } from "../../../core/dialects/index.ts";
import type { Profile } from "../../../snapshot/index.ts";
import type { Provider, UpstreamChannel } from "../../../upstream/index.ts";
import type { Target } from "./address.ts";

export interface ChosenChannel {
  readonly channel: UpstreamChannel;
  /** Of capabilities that the request uses, hard and soft. */
  readonly lost: readonly Loss[];
}

/** Of a history that comes from another provider; a provider of the dialect refuses it, and is sent the rest. */
export const UNSIGNED_THINKING: Loss = { capability: "hint", isHard: false, place: "messages" };

const NOTHING_LOST: readonly Loss[] = [];

/** `model`: as the provider is sent it. Throws `fidelity_loss` or, where the body must be read for it, `invalid_request`. */
export function chooseChannel(
  provider: Provider,
  target: Target,
  model: string | undefined,
  { requireCaps }: Profile,
): ChosenChannel {
  let best: ChosenChannel | undefined;
  let bestRank = Number.POSITIVE_INFINITY;
  let lacking: string | undefined;
  for (const listed of provider.channels) {
    if (!serves(listed, target, model)) continue;
    const isOther = listed.dialect !== target.dialect;
    // Bytes of a client go to the model's maker as they are, who knows best what the model takes of them.
    const isJudged = isOther || !listed.isOwnSurface || requireCaps.length > 0;
    const channel = isJudged && model !== undefined ? listed.forModel(model) : listed;
    const missing = requireCaps.length === 0 ? undefined : requireCaps.find((name) => !channel.claims(name));
    if (missing !== undefined) {
      lacking ??= missing;
      continue;
    }
    const lost = lostOn(channel, isOther, target);
    const rank = rankOf(channel, isOther, lost);
    if (rank === 0) return { channel, lost };
    if (rank >= bestRank) continue;
    bestRank = rank;
    best = { channel, lost };
  }
  if (best === undefined) throw noChannel(provider, target, lacking);
  const hard = provider.onFidelityLoss === "allow" ? undefined : best.lost.find(({ isHard }) => isHard);
  if (hard !== undefined) throw wouldLose(provider, hard);
  return best;
}

function serves(channel: UpstreamChannel, { route, dialect }: Target, model: string | undefined): boolean {
  if (channel.servesModel !== undefined && model !== undefined && !channel.servesModel(model)) return false;
  if (channel.dialect === dialect) return route.capability === "" || channel.claims(route.capability);
  return route.counterpart !== undefined && channel.claims(route.counterpart.capability);
}

function lostOn(channel: UpstreamChannel, isOther: boolean, { content, plain, dialect }: Target): readonly Loss[] {
  if (content === undefined) return NOTHING_LOST;
  if (!isOther && dialect === "messages" && mayHoldUnsigned(plain) && holdsUnsigned(content.source.value)) {
    return [...losses(content.uses, dialect, channel), UNSIGNED_THINKING];
  }
  const { lossEvidence } = channel;
  if (!isOther && lossEvidence !== undefined && !showsEvidence(plain, lossEvidence)) return NOTHING_LOST;
  return losses(content.uses, dialect, channel);
}

/** Lower is better; channels of one rank go by the order in which they are defined. */
function rankOf({ isOwnSurface }: UpstreamChannel, isOther: boolean, lost: readonly Loss[]): number {
  const loss = lost.length === 0 ? 0 : lost.some(({ isHard }) => isHard) ? 2 : 1;
  return loss * 4 + (isOwnSurface ? 0 : 2) + (isOther ? 1 : 0);
}

function noChannel({ name }: Provider, { route, dialect }: Target, lacking: string | undefined): GatewayError {
  const none = `Provider ${name} has no channel for the ${route.name} route of the ${dialect} dialect`;
  return lacking === undefined
    ? new GatewayError("fidelity_loss", `${none}.`, { param: route.capability || route.name })
    : new GatewayError("fidelity_loss", `${none} that has ${lacking}, which the caller's profile requires.`, {
        param: lacking,
      });
}

function wouldLose({ name }: Provider, { capability, place }: Loss): GatewayError {
  const where = place === undefined ? "" : ` as it stands at ${place}`;
  return new GatewayError(
    "fidelity_loss",
    `Provider ${name} cannot carry ${capability}${where}, which the request uses; ` +
      "leave it out, ask for another model, or have the operator set `on_fidelity_loss: allow`.",
    { param: capability },
  );
}
