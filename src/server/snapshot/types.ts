/** The whole compiled configuration, frozen. A request takes one at its start and keeps it to its end. */
import type { AuthRules } from "../auth/index.ts";
import type { BudgetRule } from "../core/budgets/index.ts";
import type { AccessPolicy, Policies } from "../core/policy/index.ts";
import type { Provider } from "../upstream/index.ts";
import type { Audits } from "./audits.ts";
import type { CardKeys } from "./card-keys.ts";
import type { FrontedSnapshot } from "./fronted.ts";
import type { GuardrailSnapshot } from "./guardrails.ts";

export interface Routed {
  readonly provider: Provider;
  /** The name or pattern of the configuration that matched, as written there: a label that callers cannot multiply. */
  readonly label: string;
}

export interface Claim extends Routed {
  /** What is matched: the label, with its references resolved. */
  readonly name: string;
  /** What the provider is sent in its place, as written; undefined for what is no alias. */
  readonly alias: string | undefined;
}

/** `profiles[]`, compiled; also what holds for those who have no profile. */
export interface Profile {
  /** Undefined: of those without a profile. */
  readonly name: string | undefined;
  /** As the document has them, references as written; empty: every routed model. */
  readonly allowedModels: readonly string[];
  /** Judges the name that the client asked for. Undefined: every model. */
  readonly allows: ((model: string) => boolean) | undefined;
  /** Capabilities that a channel must claim. */
  readonly requireCaps: readonly string[];
  /** Which part of any pool its traffic is confined to; undefined: none. */
  readonly poolSubset: string | undefined;
  /** Undefined: unmetered. */
  readonly budget: BudgetRule | undefined;
  /** The deployment's rules, then its own. */
  readonly policy: AccessPolicy;
  /** How many rules of its own it has. */
  readonly ownRules: number;
}

/** Who may call, and what they may do and spend. */
export interface Governance {
  /** Undefined: everybody is anonymous, and the client's credential is forwarded. */
  readonly auth: AuthRules | undefined;
  /** By name; for no name, what holds without a profile. Undefined: the name is not configured, and nothing is allowed. */
  readonly profile: (name: string | undefined) => Profile | undefined;
  /** In the order of the document, without the one of no name. */
  readonly profiles: readonly Profile[];
  readonly budgets: readonly BudgetRule[];
  readonly policies: Policies;
  /** Without a slash at its end. */
  readonly publicUrl: string | undefined;
  /** Of `publicUrl`. */
  readonly publicOrigin: string | undefined;
  /** Usage is read from answers: something counts it. */
  readonly meters: boolean;
}

export interface Snapshot {
  /** Of the document as it is written: the same for the same document, on every node. */
  readonly digest: string;
  readonly governance: Governance;
  readonly guardrails: GuardrailSnapshot;
  readonly fronted: FrontedSnapshot;
  readonly cardKeys: CardKeys;
  /** Undefined: no report is fetched. */
  readonly audits: Audits | undefined;
  /** In the order of the document. */
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
  /** Where requests without a model go. */
  readonly modelless: Routed | undefined;
  /** Exact names and aliases of all providers, each with the name of the one it is routed to: for `GET /v1/models`. */
  readonly listed: readonly { readonly id: string; readonly provider: string }[];
}

/** `max_body_bytes: 0`, and the flag's default: 32 MiB. */
export const DEFAULT_MAX_BODY_BYTES = 32 << 20;
