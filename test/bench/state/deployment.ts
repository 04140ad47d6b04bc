/** Deployment documents of a governed gateway with one large part: providers, budgets or rules. */

import { CONFIG_MODEL } from "../parts/configuration.ts";
import { governedSections } from "../parts/governed-deployment.ts";

export interface DeploymentSize {
  readonly providers: number;
  /** Budgets beside that of the callers; each has a profile of its own. */
  readonly budgets: number;
  /** Rules of profiles that no caller of the bench has, `RULES_A_PROFILE` each. */
  readonly otherRules: number;
  /** Rules evaluated for each request. */
  readonly commonRules: number;
}

export const SMALL: DeploymentSize = { providers: 10, budgets: 0, otherRules: 0, commonRules: 0 };

const RULES_A_PROFILE = 10;

interface Rule {
  readonly name: string;
  readonly at: readonly string[];
  readonly condition: string;
  readonly action: string;
}

/** Each edition changes the previous one and has a higher version. */
export function deploymentOf(size: DeploymentSize, upstreamPort: number, edition: number): object {
  const governed = governedSections({ model: CONFIG_MODEL, isRecorded: false });
  const budgets = Array.from({ length: size.budgets }, (_, at) => ({
    name: `budget-${at}`,
    limit: 1_000_000 + at,
    window: "day",
    shared: true,
    cost: { type: "TotalToken" },
  }));
  const budgetProfiles = budgets.map(({ name }) => ({ name: `profile-of-${name}`, budget: name }));
  const ruleProfiles = Array.from({ length: Math.ceil(size.otherRules / RULES_A_PROFILE) }, (_, at) => ({
    name: `profile-${at}`,
    access_rules: rules(`other-${at}`, RULES_A_PROFILE),
  }));
  return {
    ...governed,
    version: edition + 1,
    default_provider: "provider-1",
    providers: Array.from({ length: size.providers }, (_, at) => provider(at + 1, upstreamPort, edition)),
    budgets: [...governed.budgets, ...budgets],
    profiles: [...governed.profiles, ...budgetProfiles, ...ruleProfiles],
    access_rules: [...governed.access_rules, ...rules("common", size.commonRules)],
    mcp: [{ name: "bench", url: `http://127.0.0.1:${upstreamPort}/mcp/bench` }],
  };
}

/** The tenth serves the requested model. */
function provider(number: number, upstreamPort: number, edition: number): object {
  return {
    name: `provider-${number}`,
    dialect: "compat",
    base_url: `http://127.0.0.1:${upstreamPort}/v1`,
    api_key: `bench-key-${number}`,
    models: [`p${number}-*`, `alias-${number}`, `edition-${edition}-${number}`],
    model_aliases: { [`alias-${number}`]: `p${number}-chat` },
  };
}

const rules = (group: string, count: number): readonly Rule[] =>
  Array.from({ length: count }, (_, at) => ({
    name: `${group}-${at}`,
    at: ["llm"],
    condition: `model == "retired-${group}-${at}"`,
    action: "deny",
  }));
