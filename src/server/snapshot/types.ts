/** The whole compiled configuration, frozen. A request takes one at its start and keeps it to its end. */
import type { AuthRules } from "../auth/index.ts";
import type { BudgetRule } from "../core/budgets/index.ts";
import type { AccessPolicy, Policies } from "../core/policy/index.ts";
import type { Provider } from "../upstream/index.ts";
import type { Audits } from "./audits.ts";
import type { CardKeys } from "./card-keys.ts";
import type { GuardrailSnapshot } from "./compiled-guard.ts";
import type { FrontedSnapshot } from "./fronted-servers.ts";

export interface Routed {
  readonly provider: Provider;
  /** The name or pattern of the configuration that matched, as written there: a label that callers cannot multiply. */
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
  /** `undefined` for callers without a profile. */
  readonly name: string | undefined;
  /** Model list of the document, with references as written; empty means every routed model. */
  readonly allowedModels: readonly string[];
  /** Judges the name that the client asked for. Undefined: every model. */
  readonly allows: ((model: string) => boolean) | undefined;
  /** Capabilities that a channel must claim. */
  readonly requireCaps: readonly string[];
  /** Which part of any pool its traffic is confined to; undefined: none. */
  readonly poolSubset: string | undefined;
  /** `undefined` if unmetered. */
  readonly budget: BudgetRule | undefined;
  /** The deployment's rules, then its own. */
  readonly policy: AccessPolicy;
  /** How many rules of its own it has. */
  readonly ownRules: number;
}

/** Rules about callers: who may call, what callers may do and spend. */
export interface Governance {
  /** `undefined`: all callers are anonymous, and their credential is forwarded. */
  readonly auth: AuthRules | undefined;
  /**
   * Returns the profile by name; without a name, the rules for callers without a profile. `undefined` for an unknown name,
   * which allows nothing.
   */
  readonly profile: (name: string | undefined) => Profile | undefined;
  /** In document order, without the unnamed one. */
  readonly profiles: readonly Profile[];
  readonly budgets: readonly BudgetRule[];
  readonly policies: Policies;
  /** Without a slash at its end. */
  readonly publicUrl: string | undefined;
  /** Origin of `publicUrl`. */
  readonly publicOrigin: string | undefined;
  /** Usage is read from answers: something counts it. */
  readonly meters: boolean;
}

export interface Snapshot {
  /** Digest of the document as written: equal for equal documents, on every node. */
  readonly digest: string;
  readonly governance: Governance;
  readonly guardrails: GuardrailSnapshot;
  readonly fronted: FrontedSnapshot;
  readonly cardKeys: CardKeys;
  /** `undefined` if no reports are fetched. */
  readonly audits: Audits | undefined;
  /** In document order. */
  readonly providers: readonly Provider[];
  readonly byName: ReadonlyMap<string, Provider>;
  /** Serves models that match no provider, and requests without a model. */
  readonly defaultProvider: Provider | undefined;
  readonly maxBodyBytes: number;
  /** The first provider that claims the model by name, pattern or alias, else the default. */
  readonly route: (model: string) => Routed | undefined;
  /**
   * Names and patterns in the order in which `route` tries them, each under its provider: the first that is the model, or
   * a prefix of it, wins; the default provider takes the rest. Those that can never win are left out.
   */
  readonly claims: readonly Claim[];
  /** Target of requests without a model. */
  readonly modelless: Routed | undefined;
  /** Exact names and aliases of all providers, each with the name of the one it is routed to: for `GET /v1/models`. */
  readonly listed: readonly { readonly id: string; readonly provider: string }[];
}

/** `max_body_bytes: 0`, and the flag's default: 32 MiB. */
export const DEFAULT_MAX_BODY_BYTES = 32 << 20;
