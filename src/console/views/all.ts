/** All views, in the order of help and completion. A new view is one file and one line here. */

import type { View } from "../model/view.ts";
import { a2aView } from "./a2a.ts";
import { acknowledgementsView } from "./acknowledgements.ts";
import { artifactsView } from "./artifacts.ts";
import { auditHeadsView } from "./audit-heads.ts";
import { auditTailView } from "./audit-tail.ts";
import { auditVerifyView } from "./audit-verify.ts";
import { budgetsView } from "./budgets.ts";
import { certificatesView } from "./certificates.ts";
import { changesView } from "./changes.ts";
import { clusterView } from "./cluster.ts";
import { configView } from "./config.ts";
import { controlsView } from "./controls.ts";
import { errorsView } from "./errors.ts";
import { favoritesView } from "./favorites.ts";
import { guardrailsView } from "./guardrails.ts";
import { keysView } from "./keys.ts";
import { mcpView } from "./mcp.ts";
import { modelsView } from "./models.ts";
import { overviewView } from "./overview.ts";
import { packsView } from "./packs.ts";
import { poolView } from "./pool.ts";
import { profilesView } from "./profiles.ts";
import { providersView } from "./providers.ts";
import { pulseView } from "./pulse.ts";
import { queryView } from "./query.ts";
import { reconcileView } from "./reconcile.ts";
import { recoverView } from "./recover.ts";
import { refusalsView } from "./refusals.ts";
import { rehearsalView } from "./rehearsal.ts";
import { requestsView } from "./requests.ts";
import { revisionsView } from "./revisions.ts";
import { secretsView } from "./secrets.ts";
import { suspensionsView } from "./suspensions.ts";
import { sweepsView } from "./sweeps.ts";
import { usageView } from "./usage.ts";
import { xrayView } from "./xray.ts";

export const VIEWS: readonly View[] = [
  overviewView,
  acknowledgementsView,
  pulseView,
  providersView,
  errorsView,
  poolView,
  requestsView,
  usageView,
  refusalsView,
  suspensionsView,
  modelsView,
  mcpView,
  a2aView,
  guardrailsView,
  controlsView,
  artifactsView,
  packsView,
  sweepsView,
  keysView,
  xrayView,
  profilesView,
  budgetsView,
  reconcileView,
  clusterView,
  certificatesView,
  recoverView,
  configView,
  rehearsalView,
  revisionsView,
  secretsView,
  auditHeadsView,
  auditTailView,
  auditVerifyView,
  changesView,
  queryView,
  favoritesView,
];
