/** Parts of a node that are open before the admin plane and the data plane, which both work with them. */
import type { AuditTrail, FailureSampler } from "../audit/index.ts";
import type { ModelSupply, OpenStore } from "../models/index.ts";
import type { Certificates } from "../tls/index.ts";
import type { ReconciledRows } from "./admin/reconciled-port.ts";
import type { Configuration } from "./configuration/configuration-types.ts";
import type { openGovernance } from "./governance/governance-ports.ts";
import type { TokenVerifiers } from "./governance/token-verifiers.ts";
import type { LateParts } from "./late-parts.ts";
import type { NodeSettings } from "./node-settings.ts";
import type { ReplicatedState } from "./open-replicated-state.ts";
import type { openHistory } from "./record-history.ts";
import type { observe } from "./start.ts";
import type { TrafficRecords } from "./traffic-records.ts";

export interface NodeParts {
  readonly settings: NodeSettings;
  readonly observed: Awaited<ReturnType<typeof observe>>;
  readonly state: ReplicatedState;
  readonly tokens: TokenVerifiers;
  readonly traffic: TrafficRecords;
  readonly store: OpenStore;
  readonly models: ModelSupply;
  readonly configuration: Configuration;
  readonly trail: AuditTrail;
  readonly failures: FailureSampler;
  readonly reconciled: ReconciledRows;
  readonly governancePorts: ReturnType<typeof openGovernance>;
  readonly history: ReturnType<typeof openHistory>;
  /** Certificates of the data listener; `undefined` if it serves plain HTTP. */
  readonly certificates: Certificates | undefined;
  readonly late: LateParts;
}
