/**
 * Waits for the first byte, where something acts on them. A wait belongs to a provider, and is refused where neither its own
 * retry nor a failover reacts; a failover that reacts needs one of every provider in its list.
 */

import type { Provider } from "./routes.ts";

export interface Reactions {
  readonly retries: boolean;
  readonly failsOver: boolean;
}

/** Waits that nothing acts on are taken off; `dropped` names their providers. */
export function reactionsOf(providers: readonly Provider[]): {
  readonly reactions: ReadonlyMap<Provider, Reactions>;
  readonly dropped: readonly Provider[];
} {
  const failsOver = new Set(
    providers.filter(
      ({ to, timeoutMs }) => to.length > 0 && timeoutMs !== undefined && to.every((it) => it.timeoutMs !== undefined),
    ),
  );
  const listed = new Set([...failsOver].flatMap(({ to }) => to));
  const dropped = providers.filter(
    (provider) =>
      provider.timeoutMs !== undefined &&
      provider.endpoint.retry === undefined &&
      !failsOver.has(provider) &&
      !listed.has(provider),
  );
  for (const provider of dropped) provider.timeoutMs = undefined;
  return {
    reactions: new Map(
      providers.map((provider) => [
        provider,
        {
          retries: provider.timeoutMs !== undefined && provider.endpoint.retry !== undefined,
          failsOver: failsOver.has(provider),
        },
      ]),
    ),
    dropped,
  };
}
