/** Access decisions of the admin plane: principals and permissions. Source: design decisions, section 3 (Policy). */

import type { ActionGroup, ResourceKind } from "../../../admin-api/index.ts";
import type { Principal } from "../principal.ts";

/** Resource in the form `<Kind>::"<name>"`. */
export interface Resource {
  readonly kind: ResourceKind;
  readonly name: string;
}

export interface AccessQuestion {
  readonly principal: Principal;
  /** Name of the operation. */
  readonly action: string;
  readonly group: ActionGroup;
  readonly resource: Resource;
}

export interface AccessDecision {
  readonly isAllowed: boolean;
  /** Ids of the deciding policies, from `@id`; empty if none applied. */
  readonly policies: readonly string[];
  /** Ids of policies that could not be evaluated, and so do not apply. */
  readonly failed: readonly string[];
}

export interface Access {
  decide(question: AccessQuestion): AccessDecision;
}

/** Permits everything: used without an issuer and without a policy file. */
export const PERMIT_ALL: Access = { decide: () => ({ isAllowed: true, policies: [], failed: [] }) };
