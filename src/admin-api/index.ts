/**
 * Contract of the admin API: operations, records and columns as data, and a client typed by them.
 *
 * - `lists/`: definitions of the lists: columns, parameters, policy
 * - `operations/`: operations of the admin API, a file for each kind of resource
 */

export * from "./admin-address.ts";
export { type AdminClient, type CallInput, createAdminClient } from "./admin-client.ts";
export { AdminError } from "./admin-error.ts";
export { BASE_PATH, PROBE_PATHS } from "./admin-paths.ts";
export {
  type AdminAnswer,
  type CallOptions,
  openTransport,
  type RequestBody,
  type Transport,
} from "./admin-transport.ts";
export { AUDIT_EVENT_RULES } from "./audit-events.ts";
export { explain } from "./explain-failure.ts";
export { LIST_GROUPS, type ListDefinition } from "./list-definition.ts";
export * from "./list-table.ts";
export { ATTENTION_SEVERITIES } from "./lists/acknowledgements.ts";
export { KEPT_REQUESTS } from "./lists/requests.ts";
export { SUSPENSION_KINDS } from "./lists/suspensions.ts";
export { LISTED_USAGE } from "./lists/usage.ts";
export { lacksDocument, notReadyReasons } from "./not-ready-reasons.ts";
export { type OpenApiDocument, openApiDocument } from "./openapi-document.ts";
export * from "./operation-definition.ts";
export * from "./operation-table.ts";
export { type AuditRecord, KEPT_RECORDS } from "./operations/audit.ts";
export { type BackendFailure, type BackendMember, MAX_MEMBERS } from "./operations/backends.ts";
export { ARCHIVE_TYPE } from "./operations/cluster.ts";
export { type GuardrailRehearsal, MAX_REHEARSED_LENGTH } from "./operations/guardrails.ts";
export type { LoginIssuer, NodeStatus } from "./operations/node.ts";
export type { QueryResult, QueryTables } from "./operations/query.ts";
export type { RehearsalResult } from "./operations/rehearsal.ts";
export type { Configuration, FileStatus, SourceChange, SourceProblem, SourceRevision } from "./operations/sources.ts";
export { paramOf } from "./parse-query-param.ts";
export { isDataPlaneNotFound, readJson, readText, refusalOf, throwIfRefused } from "./read-admin-answer.ts";
export { rehearsalCoverage, rehearsalSummary } from "./rehearsal-summary.ts";
export { bodyShapeOf } from "./request-content-type.ts";
export { cellText, csvLines } from "./result-csv.ts";
export { columnNamedTwice, objectLines, objectTexts } from "./result-json.ts";
