/** In-memory profiles, issuers and buckets: rows set by a test. */

import type { BudgetRecord, ProfileRecord } from "../../../../src/admin-api/index.ts";
import type { GovernanceLists } from "../../../../src/server/admin/index.ts";

type Profile = Omit<ProfileRecord, "keys">;

export interface MemoryGoverned {
  readonly governed: GovernanceLists;
  /** Acts like a configuration with these profiles, issuers and shared budgets, in this order. */
  configure(
    named: Readonly<Partial<Record<"profiles" | "issuers" | "budgets", readonly string[]>>>,
    over?: Partial<Profile>,
  ): void;
  /** Acts like requests that spend from a shared budget. */
  spend(budget: string, units: number): void;
}

const bucket = (budget: string, used: number): BudgetRecord => ({
  budget,
  bucket: "shared",
  key: null,
  limit: 1_000,
  used,
  unaccounted: 0,
  reserved: 0,
  granted: 0,
  remaining: 1_000 - used,
  window: "1h",
  resets_at: "2026-11-20T13:00:00.000Z",
  status: "ok",
  refused_per_minute: 0,
  holders: used === 0 ? [] : [{ node: "n1", granted: 0, spent: used }],
  node: "n1",
});

export function createMemoryGoverned(): MemoryGoverned {
  const listeners = new Set<(what: "configuration" | "measurements") => void>();
  let profiles: readonly Profile[] = [];
  let issuers: readonly string[] = [];
  let budgets: readonly BudgetRecord[] = [];
  const notify = (what: "configuration" | "measurements"): void => {
    for (const listener of [...listeners]) listener(what);
  };
  return {
    governed: {
      profiles: () => profiles,
      issuers: () => issuers,
      budgets: async () => budgets,
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    configure(named, over = {}) {
      profiles = (named.profiles ?? []).map((name) => ({
        name,
        budget: null,
        allowed_models: [],
        require_caps: [],
        access_rules: 0,
        detectors: null,
        ...over,
      }));
      issuers = named.issuers ?? [];
      budgets = (named.budgets ?? []).map((name) => budgets.find(({ budget }) => budget === name) ?? bucket(name, 0));
      notify("configuration");
    },
    spend(name, units) {
      budgets = budgets.map((row) => (row.budget === name ? bucket(name, row.used + units) : row));
      notify("measurements");
    },
  };
}
