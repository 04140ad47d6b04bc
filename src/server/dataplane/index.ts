/**
 * Data plane: serves requests from their arrival to their settlement, for every traffic type.
 *
 * - `budgets/`: budgets of this node: the ledger for requests
 * - `conventions/`: spans and metrics by OpenTelemetry's semantic conventions
 * - `discovery/`: agent cards, MCP registry and server metadata that the gateway serves
 * - `governance/`: access rules, suspensions and decision records on a request
 * - `hops/`: code for one traffic type each: models, MCP and A2A, WebSocket
 * - `metering/`: metering of requests and sessions
 * - `model-calls/`: calls that the gateway itself makes for its detectors
 * - `refusals/`: refusals of this node, counted and recorded
 * - `responses/`: state that the Responses API needs over providers without it
 */

export { type OpenBudgets, openBudgets, type UsageReports } from "./budgets/index.ts";
export { displayText } from "./caller-label.ts";
export { refuseConnection } from "./connection-admission.ts";
export type { DecisionSink } from "./decision-trace.ts";
export { createOwnCards, fetchOwnCard } from "./discovery/own-cards.ts";
export { type EffectiveProfile, effectiveProfileOf } from "./governance/effective-profile.ts";
export { checkRouteAllowed } from "./hops/model/check-route-allowed.ts";
export { waysToServe } from "./hops/model/choose-channel.ts";
export type { Target } from "./hops/model/resolve-target.ts";
export { type ConnectionSource, listen } from "./listen.ts";
export type { UsageLedger } from "./metering/index.ts";
export { createMetrics, type DataplaneMetrics } from "./metrics.ts";
export { createModelCalls } from "./model-calls/index.ts";
export type {
  DecisionRecord,
  DecisionTrail,
  GovernancePorts,
  Ports,
  SuspendedKind,
  Suspension,
  Suspensions,
  TlsLayer,
} from "./ports.ts";
export {
  type BudgetRecords,
  type CountedRefusal,
  causeOf,
  createRefusals,
  type Refusal,
  type Refusals,
  recordBudgets,
} from "./refusals/index.ts";
export type { RequestSummary, SummarySink } from "./request-summary.ts";
export { createResponses, DEFAULT_MEMORY_BYTES, type OtherNodes, type SealKey } from "./responses/index.ts";
export {
  type AttemptFailure,
  createStatistics,
  type ProviderReading,
  type ProviderStatistics,
  type RecordedFailure,
  type Statistics,
} from "./statistics.ts";
