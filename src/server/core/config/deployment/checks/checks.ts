/**
 * Table of cross-checks of the deployment document, in the order of its sections. Checks that need the catalog (unknown preset,
 * `{region}`, capabilities), the node file (issuers) or the rule engine (conditions, costs) are made where those are available.
 */

import type { Problem, ProblemAt } from "../../problem.ts";
import type { Deployment } from "../deployment.ts";
import { checkFailover, checkFirstByteTimeout } from "./attempts.ts";
import { checkAuth, checkHolders, checkPublicUrl } from "./auth.ts";
import { checkBudgets, checkOmittedDetectors, checkProfiles } from "./callers.ts";
import type { Check } from "./check.ts";
import { checkCredentials, checkLinkLocal } from "./credentials.ts";
import { checkDetectors, checkGuardrailRules, checkRecognizers } from "./guardrails.ts";
import { checkModels, checkReferences } from "./models.ts";
import { checkCatalogOverlays } from "./overlays.ts";
import { checkAliases, checkBaseUrl, checkCredential, checkIdentity, checkWaits } from "./providers.ts";
import { checkReconcile } from "./reconcile.ts";
import { checkAllowedModels, checkDefaultProvider, checkReachable, checkShadowedModels } from "./routing.ts";
import { checkNames } from "./unique-names.ts";
import { checkHops, checkPools } from "./upstream-references.ts";

const CHECKS: readonly Check[] = [
  checkNames,
  checkAuth,
  checkCredentials,
  checkLinkLocal,
  checkCatalogOverlays,
  checkIdentity,
  checkBaseUrl,
  checkCredential,
  checkAliases,
  checkWaits,
  checkFailover,
  checkFirstByteTimeout,
  checkDefaultProvider,
  checkReachable,
  checkShadowedModels,
  checkPublicUrl,
  checkPools,
  checkBudgets,
  checkProfiles,
  checkAllowedModels,
  checkHolders,
  checkHops,
  checkReconcile,
  checkDetectors,
  checkRecognizers,
  checkGuardrailRules,
  checkOmittedDetectors,
  checkModels,
  checkReferences,
];

/** Runs all checks. `document` has passed the schema and its references are resolved. */
export function deploymentChecks(document: Deployment, problem: ProblemAt): readonly Problem[] {
  return CHECKS.flatMap((check) => check(document, problem));
}
