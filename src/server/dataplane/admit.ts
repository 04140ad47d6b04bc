/** Which channels may carry a request. Each failover candidate is admitted like the first. */
import { GatewayError } from "../../base/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import type { Provider, UpstreamChannel } from "../upstream/index.ts";
import type { Target } from "./address.ts";

export interface Admitted {
  readonly provider: Provider;
  readonly channel: UpstreamChannel;
  /** The model as this provider is sent it; undefined on a modelless route. */
  readonly model: string | undefined;
}

/** The addressed provider first, then its failover list; those that cannot carry the request are left out. */
export function admit(snapshot: Snapshot, target: Target): readonly Admitted[] {
  const first = admitTo(target.provider, target);
  if (first === undefined) {
    const { route, dialect, provider } = target;
    throw new GatewayError(
      "fidelity_loss",
      `Provider ${provider.name} has no channel for the ${route.name} route of the ${dialect} dialect.`,
      { param: route.capability === "" ? route.name : route.capability },
    );
  }
  const { failover } = target.provider;
  if (failover === undefined) return [first];
  const admitted = [first];
  for (const name of failover.to) {
    const provider = snapshot.byName.get(name);
    const candidate = provider && admitTo(provider, target);
    if (candidate !== undefined) admitted.push(candidate);
  }
  return admitted;
}

/** Channels stand in order of preference: own surface first, then as defined. */
function admitTo(provider: Provider, { route, dialect, model: asked }: Target): Admitted | undefined {
  const model = asked === undefined ? undefined : (provider.aliases.get(asked) ?? asked);
  for (const channel of provider.channels) {
    if (channel.dialect !== dialect) continue;
    if (channel.caps !== undefined && route.capability !== "" && !channel.caps.has(route.capability)) continue;
    if (channel.servesModel !== undefined && model !== undefined && !channel.servesModel(model)) continue;
    return { provider, channel, model };
  }
  return undefined;
}
