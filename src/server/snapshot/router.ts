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

export interface Router {
  route(model: string): Routed | undefined;
  /** What `route` goes by: the first whose label is the model, or a prefix of it, wins. Those that never could are left out. */
  readonly claims: readonly Routed[];
}

/** The label of what the default provider serves; the model's own name would let callers create series. */
const DEFAULT_LABEL = "other";

export function compileRouter(claiming: readonly ClaimingProvider[], defaultProvider: Provider | undefined): Router {
  const exact = new Map<string, Claim>();
  const prefixes: (Claim & { readonly prefix: string })[] = [];
  const claims: Routed[] = [];
  /** A prefix and the first provider that claims it. */
  const owners = new Map<string, number>();
  /** Whether a provider before `order` claims all that begins so. Looks at each beginning, not at each claim. */
  const isTaken = (text: string, order: number): boolean => {
    for (let length = 0; length <= text.length; length++) {
      if ((owners.get(text.slice(0, length)) ?? order) < order) return true;
    }
    return false;
  };
  claiming.forEach(({ provider, models }, order) => {
    const names = [...models, ...provider.aliases.keys()];
    for (const name of names.filter((it) => !it.endsWith("*"))) {
      if (exact.has(name)) continue;
      const claim = { provider, order, label: name };
      exact.set(name, claim);
      // Its own provider's prefixes yield to a name.
      if (!isTaken(name, order)) claims.push(claim);
    }
    for (const label of names.filter((it) => it.endsWith("*"))) {
      const claim = { provider, order, label, prefix: label.slice(0, -1) };
      if (!isTaken(claim.prefix, order + 1)) claims.push(claim);
      if (!owners.has(claim.prefix)) owners.set(claim.prefix, order);
      prefixes.push(claim);
    }
  });
  const fallback = defaultProvider && { provider: defaultProvider, label: DEFAULT_LABEL };
  return {
    claims,
    route(model) {
      const named = exact.get(model);
      for (const claim of prefixes) {
        if (named !== undefined && claim.order >= named.order) break;
        if (model.startsWith(claim.prefix)) return claim;
      }
      return named ?? fallback;
    },
  };
}
