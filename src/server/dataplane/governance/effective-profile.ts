/**
 * Determines the effective profile of a caller under one configuration, once for all its requests. Source: specification
 * document 1 (Authentication, data plane 5), document 3 (`profiles[]`).
 */
import { GatewayError } from "../../../base/index.ts";
import type { Caller } from "../../auth/index.ts";
import { bucketName } from "../../core/budgets/index.ts";
import { type CallerVariables, callerVariables } from "../../core/policy/variables/index.ts";
import type { Governance, Profile } from "../../snapshot/index.ts";
import { RequestCache } from "./request-cache.ts";

export interface EffectiveProfile {
  readonly caller: Caller;
  readonly governance: Governance;
  readonly profile: Profile;
  readonly variables: CallerVariables;
  /** Caller's name in the usage ledger: the name of the key, or issuer and subject; empty if the caller was not authenticated. */
  readonly name: string;
  /** Bucket of the profile's budget; empty without a budget. */
  readonly bucket: string;
  /** Whether the profile's list or a rule restricts models, or a budget counts their usage; see `Route.guard`. */
  readonly isRestricted: boolean;
  readonly requests: RequestCache;
}

/** Cache by caller. A caller stays the same object as long as it does not change. */
const profiles = new WeakMap<Caller, EffectiveProfile>();

/**
 * Returns the effective profile. Throws `policy_denied` if the caller's profile is not configured: profiles restrict, so
 * continuing without one would allow more than intended.
 */
export function effectiveProfileOf(caller: Caller, governance: Governance): EffectiveProfile {
  const before = profiles.get(caller);
  if (before?.governance === governance) return before;
  const profile = governance.profile(caller.profile);
  if (profile === undefined) {
    throw new GatewayError("policy_denied", "The profile of this caller is not configured.");
  }
  const { budget, allows, policy } = profile;
  const effective: EffectiveProfile = {
    caller,
    name: ledgerName(caller),
    governance,
    profile,
    variables: callerVariables(caller),
    bucket: budget === undefined ? "" : bucketName(budget.name, budget.isShared, caller.principal),
    isRestricted: allows !== undefined || budget !== undefined || policy.readsModel,
    requests: new RequestCache(),
  };
  profiles.set(caller, effective);
  return effective;
}

/**
 * Maximum length of a name, in UTF-16 units. The end of a longer name is replaced by a digest, so that different callers keep
 * different names.
 */
const MAX_NAME_LENGTH = 128;
const DIGEST_LENGTH = 16;

function ledgerName({ key, user, agent, issuer, principal }: Caller): string {
  const subject = (user ?? agent)?.subject;
  const name = key?.name ?? (subject === undefined ? "" : `${issuer ?? ""}/${subject}`);
  if (name.length <= MAX_NAME_LENGTH) return name;
  return `${name.slice(0, MAX_NAME_LENGTH - DIGEST_LENGTH - 1)}~${principal.slice(-DIGEST_LENGTH)}`;
}
