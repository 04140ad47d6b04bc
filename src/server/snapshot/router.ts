/** Maps a model name to a provider: the first in document order whose names, patterns or aliases claim it. */
import type { Provider } from "../upstream/index.ts";
import type { Claim, Routed } from "./types.ts";

interface Ordered extends Claim {
  readonly order: number;
}

export interface ClaimingProvider {
  readonly provider: Provider;
  /** Claimed names: exact names, and prefixes with a trailing `*`. */
  readonly models: readonly string[];
  /** Claimed names and the model of each alias, with references as written in the configuration. */
  readonly written: { readonly models: readonly string[]; readonly aliases: Readonly<Record<string, string>> };
}

interface Router {
  route(model: string): Routed | undefined;
  /**
   * Claims in the order in which `route` tries them: the first whose name is the model, or a prefix of it, wins. Claims that can
   * never win are left out.
   */
  readonly claims: readonly Claim[];
}

/** Metric label of models that the default provider serves. Using the model's own name would let callers create series. */
const DEFAULT_LABEL = "other";

export function compileRouter(claiming: readonly ClaimingProvider[], defaultProvider: Provider | undefined): Router {
  const exact = new Map<string, Ordered>();
  const prefixes: (Ordered & { readonly prefix: string })[] = [];
  const claims: Claim[] = [];
  /** First provider that claims each prefix, by prefix. */
  const owners = new Map<string, number>();
  /**
   * Returns true if a provider before `order` claims all names with this prefix. Looks up each prefix of the text instead of
   * scanning all claims.
   */
  const isTaken = (text: string, order: number): boolean => {
    for (let length = 0; length <= text.length; length++) {
      if ((owners.get(text.slice(0, length)) ?? order) < order) return true;
    }
    return false;
  };
  claiming.forEach(({ provider, models, written }, order) => {
    const own = [
      ...models.map((name, at) => ({ name, label: written.models[at] ?? name })),
      ...[...provider.aliases.keys()].map((name) => ({ name, label: name })),
    ].map((it) => ({ ...it, alias: provider.aliases.has(it.name) ? written.aliases[it.name] : undefined }));
    for (const named of own.filter(({ name }) => !name.endsWith("*"))) {
      const { name } = named;
      if (exact.has(name)) continue;
      const claim = { provider, order, ...named };
      exact.set(name, claim);
      // A provider's exact names win over its own prefixes.
      if (!isTaken(name, order)) claims.push(claim);
    }
    for (const named of own.filter(({ name }) => name.endsWith("*"))) {
      const claim = { provider, order, ...named, prefix: named.name.slice(0, -1) };
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
