/** Governance ports of this node: callers, suspensions, budgets and the decision trail. */
import type { Clock, Instruments, Lifetime, Log } from "../../../base/index.ts";
import type { AuditTrail, FailureSampler } from "../../audit/index.ts";
import { createCallers } from "../../auth/index.ts";
import type { Cluster } from "../../cluster/index.ts";
import { type GovernancePorts, openBudgets } from "../../dataplane/index.ts";
import { openLedger } from "../../usage/index.ts";
import { type ControlDecisions, isDecision } from "../admin/control-decisions.ts";
import type { RemovalGate } from "../cluster/removal-gate.ts";
import { ledgerReports } from "./ledger-reports.ts";
import { openSuspensions } from "./suspension-rows.ts";
import type { TokenVerifiers } from "./token-verifiers.ts";
import { usageReports } from "./usage-reports.ts";
import { openKeyStore } from "./virtual-keys.ts";

interface GovernanceOptions {
  readonly cluster: Cluster;
  readonly removal: Pick<RemovalGate, "isClosed" | "onChange">;
  readonly tokens: TokenVerifiers;
  readonly trail: AuditTrail;
  readonly failures: FailureSampler;
  readonly controls: Pick<ControlDecisions, "add">;
  readonly clock: Clock;
  readonly instruments: Instruments;
  readonly log: Log;
  /** Interval between two reports to the usage ledger, in milliseconds. */
  readonly usageEveryMs?: number | undefined;
}

/** Opens the ports; `owner` closes them. */
export function openGovernance(options: GovernanceOptions, owner: Lifetime) {
  const { cluster, removal, tokens, trail, failures, controls, clock, instruments, log } = options;
  const { view } = cluster;
  const keys = openKeyStore(view);
  const suspensions = openSuspensions(view, clock);
  const budgets = owner.own(
    "budgets",
    openBudgets({ node: cluster.status().nodeId, clock, reports: usageReports(cluster), instruments, log }),
    (it) => it.close(),
  );
  const reports = ledgerReports(cluster, clock.now);
  const ledger = owner.own(
    "ledger of usage",
    openLedger({ reports, now: clock.now, instruments, log, everyMs: options.usageEveryMs }),
    (it) => it.close(),
  );
  const governancePorts: GovernancePorts = {
    callers: createCallers({ keys, verifier: tokens.verifier, clock, instruments }),
    issuerUrl: (name) => tokens.issuer(name)?.url,
    suspensions,
    isRemoved: removal.isClosed,
    onWithdrawal(listener) {
      const unwatch = ["key/", "susp/"].map((table) => view.watch(table, listener));
      const ends = [...unwatch, removal.onChange(listener)];
      return () => {
        for (const end of ends) end();
      };
    },
    budgets,
    ledger,
    trail: {
      record(record) {
        trail.append(record);
        if (isDecision(record.event)) controls.add(record.controls, clock.now());
      },
      recordFailedAuthentication: (data) => failures.record({ plane: "data", ...data }),
    },
  };
  return { ...governancePorts, budgets, ledger };
}
