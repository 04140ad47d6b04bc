/**
 * Compiles who may call, and what callers may do and spend: `auth`, `profiles`, `budgets`, `access_rules` and `public_url`.
 * Source: specification documents 1 (Authentication) and 3; design decisions, sections 1 and 6.
 */
import { closestName } from "../../base/index.ts";
import type { AuthRules } from "../auth/index.ts";
import { type BudgetRule, type CompileCost, compileBudget } from "../core/budgets/index.ts";
import {
  type Deployment,
  type Path,
  type Problem,
  providerName,
  type Read,
  type Severity,
  unknownName,
} from "../core/config/index.ts";
import { CLAIMABLE_NAMES, defaultClaims, isClaimable, ROUTE_NAMES } from "../core/dialects/index.ts";
import type { KnownNames, Policies } from "../core/policy/index.ts";
import { modelMatcher, type Provider } from "../upstream/index.ts";
import { hasRules, type Rules } from "./load-rules.ts";
import type { Governance, Profile } from "./types.ts";

/** Settings of the node file that a deployment is checked against. */
export interface TrustedSettings {
  /** Names of the node file's `issuers`. */
  readonly issuers: readonly string[];
  /** Audiences that the admin API accepts, by issuer name. */
  readonly adminAudiences: ReadonlyMap<string, ReadonlySet<string>>;
  /** Terms of the inspector; `undefined` if the node does not open one. */
  readonly inspector?: InspectorTerms | undefined;
}

export interface InspectorTerms {
  readonly inspectsResponses: boolean;
  /** True if the node only inspects: it has no `cluster.data_dir`, so it stores nothing. */
  readonly isInspectionOnly: boolean;
}

export interface GovernanceInput {
  /** True if metered usage has been compared with a report before; absent if nothing is stored. */
  readonly hasReconciled?: boolean | undefined;
  /** Revision that is equal on all nodes and grows with every stored change; 0 if nothing is stored. */
  readonly limitRev: number;
  /** Trusted settings; `undefined` without a node file, and then any issuer is accepted. */
  readonly trusted: TrustedSettings | undefined;
  /** Rule engine; `undefined` if `mayHoldRules` says that no text needs it. */
  readonly rules: Rules | undefined;
}

type Report = (path: Path, message: string, severity?: Severity) => void;

/**
 * Returns true if something counts usage, so that it is read from answers. Removing `reconcile` ends polling but not metering,
 * which continues while the cluster keeps the comparisons. Source: specification document 3, `reconcile`.
 */
export const readsUsage = (
  { auth, budgets = [], reconcile }: Deployment,
  { hasReconciled = false }: Pick<GovernanceInput, "hasReconciled">,
): boolean => auth !== undefined || budgets.length > 0 || reconcile !== undefined || hasReconciled;

/** Compiles governance. The result is not usable if an error was added to `problems`. */
export function compileGovernance(
  read: Read<Deployment>,
  { document, asWritten }: { readonly document: Deployment; readonly asWritten: Deployment },
  { limitRev, trusted, rules, hasReconciled }: GovernanceInput,
  providers: readonly Provider[],
  problems: Problem[],
): Governance {
  const report: Report = (...problem) => problems.push(read.problem(...problem));
  // Providers that did not compile are included, because a rule that names one is not a second mistake.
  const names = (document.providers ?? []).flatMap((provider) => providerName(provider) ?? []);
  const isWhole = names.length === providers.length;
  const publicUrl = document.public_url === undefined ? undefined : withoutSlash(document.public_url);
  const auth = document.auth && compileAuth(document.auth, publicUrl, trusted, report);
  const budgets = compileBudgets(document, limitRev, costsOf(rules, names), report);
  const policies = compilePolicies(document, names, rules, report);
  const profiles = (document.profiles ?? []).map((profile, at): Profile => {
    const path = ["profiles", at, "require_caps"];
    checkCapabilities(profile.require_caps ?? [], isWhole ? providers : [], path, report);
    const { name, allowed_models: models = [], budget } = profile;
    return Object.freeze({
      name,
      allowedModels: Object.freeze([...(asWritten.profiles?.[at]?.allowed_models ?? [])]),
      allows: models.length === 0 ? undefined : modelMatcher(models),
      requireCaps: Object.freeze([...(profile.require_caps ?? [])]),
      poolSubset: profile.pool_subset || undefined,
      budget: budgets.find((rule) => rule.name === budget),
      policy: policies.of(name),
      ownRules: profile.access_rules?.length ?? 0,
    });
  });
  const byName = new Map<string | undefined, Profile>(profiles.map((profile) => [profile.name, profile]));
  byName.set(undefined, withoutProfile(policies));
  return Object.freeze({
    auth,
    profile: (name: string | undefined) => byName.get(name),
    profiles: Object.freeze(profiles),
    budgets: Object.freeze(budgets),
    policies,
    publicUrl,
    publicOrigin: publicUrl === undefined ? undefined : new URL(publicUrl).origin,
    meters: readsUsage(document, { hasReconciled }),
  });
}

const withoutProfile = (policies: Policies): Profile =>
  Object.freeze({
    name: undefined,
    allowedModels: Object.freeze([]),
    allows: undefined,
    requireCaps: Object.freeze([]),
    poolSubset: undefined,
    budget: undefined,
    policy: policies.of(undefined),
    ownRules: 0,
  });

/**
 * Normalizes a URL to the form in which clients request tokens for it: lowercase scheme and host, no default port, no trailing
 * slash.
 */
function withoutSlash(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.replace(/\/+$/, "")}`;
}

function compileAuth(
  { virtual_keys: virtualKeys, issuers }: NonNullable<Deployment["auth"]>,
  publicUrl: string | undefined,
  trusted: TrustedSettings | undefined,
  report: Report,
): AuthRules {
  const bindings = issuers.map(({ issuer, audience, subject, profile, profiles }, at) => {
    const path = ["auth", "issuers", at];
    if (trusted?.issuers.includes(issuer) === false) {
      const message = unknownName("entry of `issuers`", issuer, trusted.issuers, "this node's file");
      report([...path, "issuer"], message);
    }
    if (trusted?.adminAudiences.get(issuer)?.has(audience) === true) {
      const message =
        "tokens of this issuer for this audience are also valid for the admin API; use another audience for the data plane";
      report([...path, "audience"], message);
    }
    return Object.freeze({
      issuer,
      audience,
      subject,
      profile: profile || undefined,
      profiles: profiles && { claim: profiles.claim, select: profiles.select },
    });
  });
  for (const issuer of new Set(issuers.map(({ issuer }) => issuer))) {
    const audiences = [...(trusted?.adminAudiences.get(issuer) ?? [])];
    if (publicUrl === undefined || !audiences.some((audience) => isResourceOf(publicUrl, audience))) continue;
    const message = `tokens of issuer ${issuer} for this address open the admin API; give its binding in \`admin.issuers\` of the node file another \`audience\``;
    report(["public_url"], message);
  }
  return Object.freeze({ virtualKeys, issuers: Object.freeze(bindings), publicUrl });
}

/** Returns true if the audience is the gateway itself, or one MCP server behind it. */
const isResourceOf = (publicUrl: string, audience: string): boolean =>
  audience.replace(/\/+$/, "") === publicUrl || audience.startsWith(`${publicUrl}/mcp/`);

type CostCompiler = (warn: (message: string) => void) => CompileCost;

const NOT_LOADED = "this cannot be checked, since the rule engine is not loaded";

const costsOf =
  (rules: Rules | undefined, providers: readonly string[]): CostCompiler =>
  (warn) =>
    rules?.costCompiler(providers, warn) ?? (() => ({ kind: "invalid", message: NOT_LOADED }));

/** Returns the budgets that compile. */
function compileBudgets(
  { budgets = [] }: Deployment,
  limitRev: number,
  costs: CostCompiler,
  report: Report,
): readonly BudgetRule[] {
  return budgets.flatMap((config, at) => {
    const pathOf = { window: ["budgets", at, "window"], cost: ["budgets", at, "cost", "cel"] };
    const warn = (message: string): void => report(pathOf.cost, message, "warning");
    const compiled = compileBudget(config, limitRev, costs(warn));
    if (compiled.kind === "rule") {
      const { limit } = compiled.rule;
      if (limit < config.limit)
        report(["budgets", at, "limit"], `lowered to ${limit}, which is the maximum`, "warning");
      return [Object.freeze(compiled.rule)];
    }
    report(pathOf[compiled.key], compiled.message);
    return [];
  });
}

const NONE: readonly never[] = Object.freeze([]);

const NO_RULES: ReturnType<Policies["of"]> = Object.freeze({
  count: Object.freeze({ llm: 0, mcp: 0, a2a: 0 }),
  readsModel: false,
  decide: () => ({ kind: "allow", decisions: NONE, skipped: NONE }) as const,
  mayListTool: () => true,
  mayReachServer: () => true,
});

const NO_POLICIES: Policies = Object.freeze({ of: () => NO_RULES, rules: NONE });

function compilePolicies(
  document: Deployment,
  providers: readonly string[],
  rules: Rules | undefined,
  report: Report,
): Policies {
  if (!hasRules(document)) return NO_POLICIES;
  if (rules === undefined) {
    if ((document.access_rules ?? []).length > 0) report(["access_rules"], NOT_LOADED);
    for (const [at, { access_rules: own = [] }] of (document.profiles ?? []).entries()) {
      if (own.length > 0) report(["profiles", at, "access_rules"], NOT_LOADED);
    }
    return NO_POLICIES;
  }
  const { policies, problems } = rules.compileRules(document, knownNames(document, providers));
  for (const { path, message, severity } of problems) report(path, message, severity);
  return policies;
}

function knownNames(document: Deployment, providers: readonly string[]): KnownNames {
  const { auth, mcp = [], a2a = [] } = document;
  const takesAll = document.default_provider !== undefined || providers.length === 1;
  const ofProviders = (document.providers ?? []).map(({ models = [], model_aliases: aliases = {} }) => ({
    models: [...models, ...Object.keys(aliases)],
    upstreamModels: [...models, ...Object.values(aliases)],
  }));
  return {
    providers,
    servers: mcp.map(({ name }) => name),
    peers: a2a.map(({ name }) => name),
    routes: ROUTE_NAMES,
    ...(!takesAll && {
      models: ofProviders.flatMap(({ models }) => models),
      upstreamModels: ofProviders.flatMap(({ upstreamModels }) => upstreamModels),
    }),
    // Without `auth` no caller has an issuer; that is reported for every rule that reads one.
    ...(auth !== undefined && { issuers: auth.issuers.map(({ issuer }) => issuer) }),
  };
}

/** Reports names outside the closed set of capabilities, which no channel can claim. */
function checkCapabilities(caps: readonly string[], providers: readonly Provider[], path: Path, report: Report): void {
  for (const [at, name] of caps.entries()) {
    if (isClaimable(name)) continue;
    const meant = closestName(name, CLAIMABLE_NAMES);
    report(
      [...path, at],
      `is not the name of a capability${meant === undefined ? "" : `; did you mean \`${meant}\`?`}`,
    );
  }
  const channels = providers.flatMap((provider) => provider.channels);
  const required = caps.filter(isClaimable);
  const serves = channels.some(({ caps: claimed, dialect }) =>
    required.every((name) => claimed?.has(name) ?? defaultClaims(dialect).has(name)),
  );
  if (!serves && channels.length > 0 && required.length > 0) {
    report(path, "no channel of any provider has all of them: every request with this profile is refused", "warning");
  }
}
