/** Each operation of the table with its handler, and each list with its source: a missing one is a compile error. */

import type { Handlers, ListSources } from "./handler.ts";
import { acknowledgementHandlers, acknowledgementList } from "./handlers/acknowledgements.ts";
import { artifactList } from "./handlers/artifacts.ts";
import { auditHandlers, auditHeadList } from "./handlers/audit.ts";
import { backendHandlers, backendList } from "./handlers/backends.ts";
import { certificateList } from "./handlers/certificates.ts";
import { clusterHandlers, memberList } from "./handlers/cluster.ts";
import { controlList } from "./handlers/controls.ts";
import { agentList, serverList } from "./handlers/fronted.ts";
import { budgetList, profileList, refusalList } from "./handlers/governed.ts";
import { guardrailHandlers, guardrailList } from "./handlers/guardrails.ts";
import { historyHandlers, historyList } from "./handlers/history.ts";
import { keyHandlers, keyList } from "./handlers/keys.ts";
import { loginHandlers } from "./handlers/login.ts";
import { modelList } from "./handlers/models.ts";
import { nodeHandlers } from "./handlers/node.ts";
import { openApiHandlers } from "./handlers/openapi.ts";
import { queryHandlers } from "./handlers/query.ts";
import { reconcileList, verdictList } from "./handlers/reconcile.ts";
import { rehearsalHandlers } from "./handlers/rehearsal.ts";
import { requestList } from "./handlers/requests.ts";
import { secretHandlers, secretList } from "./handlers/secrets.ts";
import { sourceHandlers, sourceList } from "./handlers/sources.ts";
import { suspensionHandlers, suspensionList } from "./handlers/suspensions.ts";
import { usageList } from "./handlers/usage.ts";

export const HANDLERS: Handlers = {
  ...keyHandlers,
  ...suspensionHandlers,
  ...acknowledgementHandlers,
  ...secretHandlers,
  ...sourceHandlers,
  ...rehearsalHandlers,
  ...clusterHandlers,
  ...backendHandlers,
  ...historyHandlers,
  ...guardrailHandlers,
  ...auditHandlers,
  ...queryHandlers,
  ...nodeHandlers,
  ...loginHandlers,
  ...openApiHandlers,
};

export const LISTS: ListSources = {
  keys: keyList,
  suspensions: suspensionList,
  acknowledgements: acknowledgementList,
  secrets: secretList,
  sources: sourceList,
  cluster_members: memberList,
  backends: backendList,
  models: modelList,
  audit_heads: auditHeadList,
  profiles: profileList,
  budgets: budgetList,
  refusals: refusalList,
  requests: requestList,
  history: historyList,
  guardrails: guardrailList,
  usage: usageList,
  artifacts: artifactList,
  certificates: certificateList,
  controls: controlList,
  mcp_servers: serverList,
  a2a_agents: agentList,
  reconcile: reconcileList,
  reconcile_verdicts: verdictList,
};
