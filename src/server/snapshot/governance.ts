/** Who may call, and what they may do and spend: `auth`, `profiles`, `budgets`, `access_rules` and `public_url`, compiled. */
import { compilePolicies } from "../core/policy/index.ts";
import type { Governance, Profile } from "./types.ts";

const { policies } = compilePolicies({});

const NO_PROFILE: Profile = Object.freeze({
  name: undefined,
  allowedModels: [],
  allows: undefined,
  requireCaps: [],
  budget: undefined,
  policy: policies.of(undefined),
  ownRules: 0,
});

/** What holds where the document says nothing: everybody is anonymous, and everything is allowed. */
export const UNGOVERNED: Governance = Object.freeze({
  auth: undefined,
  profile: (name: string | undefined) => (name === undefined ? NO_PROFILE : undefined),
  profiles: [],
  budgets: [],
  policies,
  publicUrl: undefined,
  meters: false,
});
