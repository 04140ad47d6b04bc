/**
 * A caller under one configuration: what holds for each of its requests, found once. Source: specification document 1
 * (Authentication, data plane 5), document 3 (`profiles[]`).
 */
import { GatewayError } from "../../../base/index.ts";
import type { Caller } from "../../auth/index.ts";
import { bucketName } from "../../core/budgets/index.ts";
import { type CallerVariables, callerVariables } from "../../core/policy/variables/index.ts";
import type { Governance, Profile } from "../../snapshot/index.ts";

export interface Standing {
  readonly caller: Caller;
  readonly governance: Governance;
  readonly profile: Profile;
  readonly variables: CallerVariables;
  /** As the ledger of usage names it: the name of its key, or issuer and subject; empty: nobody was recognised. */
  readonly name: string;
  /** That the profile's budget is spent from; empty without one. */
  readonly bucket: string;
  /** Models are kept from the caller, by its profile's list or by a rule, or what they use is counted: see `Route.guard`. */
  readonly isRestricted: boolean;
}

/** A caller is one object as long as it stays the same, and lives as long as somebody holds it. */
const known = new WeakMap<Caller, Standing>();

/**
 * Throws `policy_denied` when the caller's profile is not configured: a profile narrows, so that to go on without it
 * would let the caller do more than was meant.
 */
export function standingOf(caller: Caller, governance: Governance): Standing {
  const before = known.get(caller);
  if (before?.governance === governance) return before;
  const profile = governance.profile(caller.profile);
  if (profile === undefined) {
    throw new GatewayError("policy_denied", "The profile of this caller is not configured.");
  }
  const { budget, allows, policy } = profile;
  const standing: Standing = {
    caller,
    name: ledgerName(caller),
    governance,
    profile,
    variables: callerVariables(caller),
    bucket: budget === undefined ? "" : bucketName(budget.name, budget.isShared, caller.principal),
    isRestricted: allows !== undefined || budget !== undefined || policy.readsModel,
  };
  known.set(caller, standing);
  return standing;
}

/** UTF-16 units; of a longer name the end is replaced by a digest, so that two callers stay two. */
const MAX_NAME_LENGTH = 128;
const DIGEST_LENGTH = 16;

function ledgerName({ key, user, agent, issuer, principal }: Caller): string {
  const subject = (user ?? agent)?.subject;
  const name = key?.name ?? (subject === undefined ? "" : `${issuer ?? ""}/${subject}`);
  if (name.length <= MAX_NAME_LENGTH) return name;
  return `${name.slice(0, MAX_NAME_LENGTH - DIGEST_LENGTH - 1)}~${principal.slice(-DIGEST_LENGTH)}`;
}
