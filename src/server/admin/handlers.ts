/** Handler of each operation, and source of each list. The types make a missing entry a compile error. */

import type { TableName } from "../../admin-api/index.ts";
import type { Handlers, ListSources } from "./handler-types.ts";
import { acknowledgementHandlers, acknowledgementList } from "./handlers/acknowledgements.ts";
import { auditHandlers, auditHeadList } from "./handlers/audit.ts";
import { backendHandlers, backendList } from "./handlers/backends.ts";
import { clusterHandlers, memberList } from "./handlers/cluster.ts";
import { agentList, serverList } from "./handlers/fronted-upstreams.ts";
import { guardrailHandlers } from "./handlers/guardrails.ts";
import { historyHandlers } from "./handlers/history.ts";
import { keyHandlers, keyList } from "./handlers/keys.ts";
import { loginHandlers } from "./handlers/login.ts";
import { modelList } from "./handlers/models.ts";
import { nodeHandlers } from "./handlers/node.ts";
import { openApiHandlers } from "./handlers/openapi.ts";
import { budgetList, profileList } from "./handlers/profiles-and-budgets.ts";
import { queryHandlers } from "./handlers/query.ts";
import { rehearsalHandlers } from "./handlers/rehearsal.ts";
import { secretHandlers, secretList } from "./handlers/secrets.ts";
import { sourceHandlers, sourceList } from "./handlers/sources.ts";
import { suspensionHandlers, suspensionList } from "./handlers/suspensions.ts";
import { usageList } from "./handlers/usage.ts";
import type { ListSource } from "./lists.ts";
import type { OwnTable, Ports } from "./ports.ts";
import { providedList } from "./provided-list.ts";

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

const OWN_LISTS: Pick<ListSources, OwnTable> = {
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
  usage: usageList,
  mcp_servers: serverList,
  a2a_agents: agentList,
};

const isOwn = (table: TableName): table is OwnTable => Object.hasOwn(OWN_LISTS, table);

/** Returns the source of a list. */
export const listSource = (table: TableName, ports: Ports): ListSource<unknown> =>
  isOwn(table) ? OWN_LISTS[table](ports) : providedList(table, ports);
