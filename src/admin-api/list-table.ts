/**
 * Lists of the admin API, each defined by one file in `lists/`. Its endpoint, the action and resource of the policy, the table of
 * `query`, the OpenAPI document, `gateway get` and the matching of rows in the console follow from it.
 */

import type { TypeOf } from "../base/index.ts";
import type { ListDefinition } from "./list-definition.ts";
import { a2aAgents } from "./lists/a2a-agents.ts";
import { acknowledgements } from "./lists/acknowledgements.ts";
import { artifacts } from "./lists/artifacts.ts";
import { auditHeads } from "./lists/audit-heads.ts";
import { backends } from "./lists/backends.ts";
import { budgets } from "./lists/budgets.ts";
import { certificates } from "./lists/certificates.ts";
import { clusterMembers } from "./lists/cluster-members.ts";
import { controls } from "./lists/controls.ts";
import { guardrails } from "./lists/guardrails.ts";
import { history } from "./lists/history.ts";
import { historyMinutes } from "./lists/history-minutes.ts";
import { keys } from "./lists/keys.ts";
import { mcpServers } from "./lists/mcp-servers.ts";
import { models } from "./lists/models.ts";
import { profiles } from "./lists/profiles.ts";
import { reconcile } from "./lists/reconcile.ts";
import { reconcileVerdicts } from "./lists/reconcile-verdicts.ts";
import { refusals } from "./lists/refusals.ts";
import { requests } from "./lists/requests.ts";
import { secrets } from "./lists/secrets.ts";
import { sources } from "./lists/sources.ts";
import { suspensions } from "./lists/suspensions.ts";
import { usage } from "./lists/usage.ts";

export const LISTS = {
  backends,
  models,
  requests,
  refusals,
  mcp_servers: mcpServers,
  a2a_agents: a2aAgents,
  guardrails,
  history,
  history_minutes: historyMinutes,
  keys,
  profiles,
  budgets,
  suspensions,
  secrets,
  sources,
  artifacts,
  controls,
  certificates,
  cluster_members: clusterMembers,
  acknowledgements,
  audit_heads: auditHeads,
  usage,
  reconcile,
  reconcile_verdicts: reconcileVerdicts,
} as const satisfies Record<string, ListDefinition>;

export type TableName = keyof typeof LISTS;
type Lists = typeof LISTS;

/** Columns of each list. Values of type object or array are JSON text in SQL. */
export const TABLES = Object.fromEntries(Object.entries(LISTS).map(([table, { row }]) => [table, row])) as {
  readonly [T in TableName]: Lists[T]["row"];
};

export type RowOf<T extends TableName> = TypeOf<Lists[T]["row"]>;

/** Lists of each node's own measurements, which can be read of all nodes. */
export type MeasuredTable = {
  [T in TableName]: "nodes" extends keyof Lists[T]["query"]["keys"] ? T : never;
}[TableName];

export const isMeasured = (table: TableName): table is MeasuredTable => "nodes" in LISTS[table].query.keys;

export type KeyRecord = RowOf<"keys">;
export type SuspensionRecord = RowOf<"suspensions">;
export type AcknowledgementRecord = RowOf<"acknowledgements">;
export type SecretRecord = RowOf<"secrets">;
export type SourceRecord = RowOf<"sources">;
export type ClusterMemberRecord = RowOf<"cluster_members">;
export type BackendRecord = RowOf<"backends">;
export type McpServerRecord = RowOf<"mcp_servers">;
export type A2aAgentRecord = RowOf<"a2a_agents">;
export type ModelRecord = RowOf<"models">;
export type ProfileRecord = RowOf<"profiles">;
export type RefusalRecord = RowOf<"refusals">;
export type UsageRecord = RowOf<"usage">;
export type RequestRecord = RowOf<"requests">;
export type HistoryRecord = RowOf<"history">;
export type BudgetRecord = RowOf<"budgets">;
export type GuardrailRecord = RowOf<"guardrails">;
export type ArtifactRecord = RowOf<"artifacts">;
export type CertificateRecord = RowOf<"certificates">;
export type ControlRecord = RowOf<"controls">;
export type ReconcileRecord = RowOf<"reconcile">;
export type ReconcileVerdictRecord = RowOf<"reconcile_verdicts">;
export type AuditHeadRecord = RowOf<"audit_heads">;
export type SuspensionKind = SuspensionRecord["kind"];
