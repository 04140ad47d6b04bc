/**
 * Keeps first-byte timeouts that a retry or failover acts on. The gateway refuses others. A failover that acts on timeouts needs one
 * of every provider in its list.
 */

import type { Provider } from "./assign-providers.ts";

export interface TimeoutReactions {
  readonly retries: boolean;
  readonly failsOver: boolean;
}

/** Removes timeouts that nothing acts on; `dropped` are their providers. */
export function reactionsOf(providers: readonly Provider[]): {
  readonly reactions: ReadonlyMap<Provider, TimeoutReactions>;
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
