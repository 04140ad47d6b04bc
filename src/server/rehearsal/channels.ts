/**
 * Decides whether a provider has a channel for a recorded request. The features that a request uses are not recorded. So a
 * channel is known to carry it only if nothing depends on them, or if it claims no less than the channel that carried it.
 */
import type { Route } from "../core/dialects/index.ts";
import { FACT, type RecordedRequest, type Step } from "../core/rehearsal/index.ts";
import { waysToServe } from "../dataplane/index.ts";
import type { Profile } from "../snapshot/index.ts";
import type { Provider, UpstreamChannel } from "../upstream/index.ts";

interface ChannelDemand {
  readonly request: RecordedRequest;
  readonly route: Route;
  readonly dialect: "compat" | "messages";
  /** Model name that is sent to the provider. */
  readonly model: string | undefined;
  readonly profile: Profile;
}

const PASSED = { kind: "passed" } as const;

/**
 * Judges the channels of a provider. `before` is the provider that carried the request, in the configuration that decided it;
 * `undefined` if not known.
 */
export function channelStep(provider: Provider, demand: ChannelDemand, before: EarlierRoute | undefined): Step {
  const { request, route, profile } = demand;
  const serving = channelsFor(provider, demand);
  if (serving.length === 0) return { kind: "refused", code: "fidelity_loss", by: "" };
  const usesThread = (request.facts & FACT.usesThread) !== 0;
  if (route.form === undefined && !usesThread) return PASSED;
  if (!usesThread && profile.requireCaps.length === 0 && serving.some(losesNothing)) return PASSED;
  const isSame =
    before !== undefined && before.name === provider.name && requiresSameCapabilities(before.profile, profile);
  if (isSame) {
    const decidedBy = [`providers/${provider.name}`, "on_fidelity_loss", "catalog_overlays"];
    return { kind: "unknown", reason: unrecordedUsageText(provider), decidedBy };
  }
  if (
    before !== undefined &&
    before.provider !== undefined &&
    wasSentUnchanged(request) &&
    carriesUnchanged(serving, before, demand)
  )
    return PASSED;
  return { kind: "unknown", reason: unrecordedUsageText(provider) };
}

export interface EarlierRoute {
  readonly name: string;
  readonly profile: Profile | undefined;
  /** Provider in the configuration in force, if it decided the request. */
  readonly provider: Provider | undefined;
}

const unrecordedUsageText = ({ name }: Provider): string =>
  `its usage of a model at provider \`${name}\` is not recorded`;

const requiresSameCapabilities = (before: Profile | undefined, now: Profile): boolean =>
  before !== undefined &&
  before.requireCaps.join("\n") === now.requireCaps.join("\n") &&
  (before.budget === undefined) === (now.budget === undefined);

/** Returns true if the request was sent as the client wrote it and lost no capability. */
const wasSentUnchanged = ({ facts }: RecordedRequest): boolean =>
  (facts & FACT.isAdmitted) !== 0 && (facts & (FACT.losesSomething | FACT.isTranslated | FACT.usesThread)) === 0;

interface ServingChannel {
  readonly channel: UpstreamChannel;
  readonly isAsItIs: boolean;
}

/**
 * Returns true if the channel can refuse nothing: it claims all that its dialect can express, and is sent what the client wrote.
 */
const losesNothing = ({ channel, isAsItIs }: ServingChannel): boolean => isAsItIs && channel.caps === undefined;

/** Returns the channels that serve the route and claim what the profile requires. */
function channelsFor(provider: Provider, { route, dialect, model, profile }: ChannelDemand): readonly ServingChannel[] {
  const { requireCaps } = profile;
  return provider.channels.flatMap((listed) => {
    const served = waysToServe(listed, { route, dialect }, model);
    if (served === undefined) return [];
    const isAsItIs = served === "as_it_is";
    const isJudged = !isAsItIs || !listed.isOwnSurface || requireCaps.length > 0;
    const channel = isJudged && model !== undefined ? listed.forModel(model) : listed;
    return requireCaps.every((name) => channel.claims(name)) ? [{ channel, isAsItIs }] : [];
  });
}

/**
 * Returns true if a channel takes the request unchanged and claims all that the earlier channel claimed, so that nothing is
 * lost.
 */
function carriesUnchanged(
  serving: readonly ServingChannel[],
  { provider, profile }: EarlierRoute,
  demand: ChannelDemand,
): boolean {
  if (provider === undefined || profile === undefined) return false;
  const asked = demand.request.model;
  const model = demand.model === undefined ? undefined : (provider.aliases.get(asked) ?? asked);
  const earlierChannels = channelsFor(provider, { ...demand, model, profile }).filter(({ isAsItIs }) => isAsItIs);
  return serving.some(
    ({ channel, isAsItIs }) =>
      isAsItIs && earlierChannels.length > 0 && earlierChannels.every((it) => claimsAllOf(channel, it.channel)),
  );
}

const claimsAllOf = ({ caps }: UpstreamChannel, { caps: needed }: UpstreamChannel): boolean =>
  caps === undefined || (needed !== undefined && [...needed].every((name) => caps.has(name)));
