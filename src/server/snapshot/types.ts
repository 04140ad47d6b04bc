/** The complete compiled configuration, frozen. A request uses the same one from start to end. */
import type { AuthRules } from "../auth/index.ts";
import type { BudgetRule } from "../core/budgets/index.ts";
import type { AccessPolicy, Policies } from "../core/policy/index.ts";
import type { Provider } from "../upstream/index.ts";
import type { CardKeys } from "./card-keys.ts";
import type { GuardrailSnapshot } from "./compiled-guard.ts";
import type { FrontedSnapshot } from "./fronted-servers.ts";
import type { ReconcileTargets } from "./reconcile-targets.ts";

export interface Routed {
  readonly provider: Provider;
  /** Name or pattern of the configuration that matched, as written there: a metric label whose values callers cannot multiply. */
  readonly label: string;
}

export interface Claim extends Routed {
  /** Matched label, with references resolved. */
  readonly name: string;
  /** Model that is sent to the provider instead, as written; `undefined` if it is not an alias. */
  readonly alias: string | undefined;
}

/** Compiled entry of `profiles[]`, or the rules for callers without a profile. */
export interface Profile {
  /** Name; `undefined` for callers without a profile. */
  readonly name: string | undefined;
  /** Model list of the document, with references as written; empty means every routed model. */
  readonly allowedModels: readonly string[];
  /** Returns whether the requested model is allowed; `undefined` if every model is. */
  readonly allows: ((model: string) => boolean) | undefined;
  /** Capabilities that a channel must claim. */
  readonly requireCaps: readonly string[];
  /** Pool subset that its traffic is limited to; `undefined` if it is not limited. */
  readonly poolSubset: string | undefined;
  /** Budget; `undefined` if usage is not limited. */
  readonly budget: BudgetRule | undefined;
  /** Access rules: the deployment's, then the profile's own. */
  readonly policy: AccessPolicy;
  /** Number of the profile's own rules. */
  readonly ownRules: number;
}

/** Rules about callers: who may call, and what callers may do and spend. */
export interface Governance {
  /** Authentication rules. If `undefined`, all callers are anonymous and their credential is forwarded. */
  readonly auth: AuthRules | undefined;
  /**
   * Returns the profile by name; without a name, the rules for callers without a profile. `undefined` for an unknown name,
   * which allows nothing.
   */
  readonly profile: (name: string | undefined) => Profile | undefined;
  /** Profiles in document order, without the unnamed one. */
  readonly profiles: readonly Profile[];
  readonly budgets: readonly BudgetRule[];
  readonly policies: Policies;
  /** Public URL without a trailing slash. */
  readonly publicUrl: string | undefined;
  /** Origin of `publicUrl`. */
  readonly publicOrigin: string | undefined;
  /** True if usage is read from answers because something counts it. */
  readonly meters: boolean;
}

export interface Snapshot {
  /** Digest of the document as written; equal documents have equal digests on every node. */
  readonly digest: string;
  readonly governance: Governance;
  readonly guardrails: GuardrailSnapshot;
  readonly fronted: FrontedSnapshot;
  readonly cardKeys: CardKeys;
  /** Reconciliation settings; `undefined` if no reports are fetched. */
  readonly reconcileTargets: ReconcileTargets | undefined;
  /** Providers in document order. */
  readonly providers: readonly Provider[];
  readonly byName: ReadonlyMap<string, Provider>;
  /** Provider of models that match no other provider, and of requests without a model. */
  readonly defaultProvider: Provider | undefined;
  readonly maxBodyBytes: number;
  /** Returns the first provider that claims the model by name, pattern or alias, else the default provider. */
  readonly route: (model: string) => Routed | undefined;
  /**
   * Names and patterns in the order in which `route` tries them, each with its provider: the first that is the model, or a
   * prefix of it, wins; the default provider gets the rest. Claims that can never win are left out.
   */
  readonly claims: readonly Claim[];
  /** Target of requests without a model. */
  readonly modelless: Routed | undefined;
  /** Exact names and aliases of all providers, each with the provider it is routed to. Used for `GET /v1/models`. */
  readonly listed: readonly { readonly id: string; readonly provider: string }[];
}

/** Default for `max_body_bytes: 0` and for the flag: 32 MiB. */
export const DEFAULT_MAX_BODY_BYTES = 32 << 20;
