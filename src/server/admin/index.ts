/**
 * The admin plane: implements the operations table, on the local socket and on the network.
 *
 * - `access/`: policy: which caller may do which operation
 * - `listeners/`: admin socket and admin listener
 * - `handlers/`: a file for each group of operations
 * - `query/`: SQL over the lists: parser, planner, worker
 */

export type {
  ArtifactRecord,
  BackendFailure,
  BackendMember,
  BackendRecord,
  BudgetRecord,
  GuardrailRecord,
  HistoryRecord,
  LoginIssuer,
  ModelRecord,
  NodeStatus,
  RefusalRecord,
  RehearsalResult,
  RequestRecord,
  SecretRecord,
  SourceProblem,
  SourceRecord,
} from "../../admin-api/index.ts";
export { KEPT_REQUESTS } from "../../admin-api/index.ts";
export { loadPolicy } from "./access/policy.ts";
export { createTokenPrincipals } from "./access/token-principal.ts";
export { type Access, PERMIT_ALL } from "./access/types.ts";
export { openAdminPlane } from "./admin-plane.ts";
export { openAdminListener } from "./listeners/admin-listener.ts";
export { type AdminSocket, openAdminSocket } from "./listeners/admin-socket.ts";
export { openPeerCredentials } from "./listeners/peer-credentials.ts";
export { collectStored } from "./lists.ts";
export type {
  AuditSink,
  Backends,
  DocumentWrite,
  GovernanceLists,
  Guardrails,
  Ports,
  RehearsalInput,
  Rehearsals,
  RowArrayOf,
  RowsOf,
  Secrets,
  SourceOutcome,
  Sources,
} from "./ports.ts";
export { actorText } from "./principal.ts";
export { refusal, refusedCommand } from "./refusal.ts";
