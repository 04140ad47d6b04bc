/** Model name to provider: the first in document order whose names, patterns or aliases claim it. */
import type { Provider } from "../upstream/index.ts";
import type { Routed } from "./types.ts";

interface Claim extends Routed {
  readonly order: number;
}

export interface ClaimingProvider {
  readonly provider: Provider;
  /** Exact names and trailing-`*` prefixes. */
  readonly models: readonly string[];
}

/** The label of what the default provider serves; the model's own name would let callers create series. */
const DEFAULT_LABEL = "other";

export function compileRouter(
  claiming: readonly ClaimingProvider[],
  defaultProvider: Provider | undefined,
): (model: string) => Routed | undefined {
  const exact = new Map<string, Claim>();
  const prefixes: (Claim & { readonly prefix: string })[] = [];
  claiming.forEach(({ provider, models }, order) => {
    for (const name of [...models, ...provider.aliases.keys()]) {
      if (name.endsWith("*")) prefixes.push({ provider, order, label: name, prefix: name.slice(0, -1) });
      else if (!exact.has(name)) exact.set(name, { provider, order, label: name });
    }
  });
  const fallback = defaultProvider && { provider: defaultProvider, label: DEFAULT_LABEL };
  return (model) => {
    const named = exact.get(model);
    for (const claim of prefixes) {
      if (named !== undefined && claim.order >= named.order) break;
      if (model.startsWith(claim.prefix)) return claim;
    }
    return named ?? fallback;
  };
}
