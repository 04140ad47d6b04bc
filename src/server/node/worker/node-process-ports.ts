/** Ports of a worker's data plane that lead to its node process. */
import { type Clock, type Instruments, type Lifetime, type Log, systemClock } from "../../../base/index.ts";
import type { GovernancePorts, Ports, SummarySink } from "../../dataplane/index.ts";
import { type BuildInfo, observeProcess } from "../../telemetry/index.ts";
import {
  answerCatchUp,
  borrowBudgets,
  type Channel,
  sendDecisions,
  sendFailures,
  sendFinished,
  sendMetrics,
  sendRefusals,
  sendRequestRecords,
  sendStatistics,
  sendUsage,
} from "../../workers/index.ts";

interface PortsOptions {
  readonly channel: Channel;
  /** Channel to the node's intake of audit records. */
  readonly records: Channel;
  /** True if records of requests are kept, so that changes can be rehearsed. */
  readonly keepsRecords: boolean;
  readonly clock: Clock;
  readonly build: BuildInfo;
  readonly instruments: Instruments;
  readonly log: Log;
}

interface NodePorts {
  readonly sinks: Required<Pick<Ports, "statistics" | "refusals">> &
    Pick<Ports, "decisions"> & {
      readonly finished: SummarySink;
    };
  readonly governancePorts: Required<Pick<GovernancePorts, "budgets" | "trail" | "ledger">>;
}

/** Opens the ports; `owner` closes them. Open them before their users, so that the users' last reports are sent too. */
export function openPorts(
  { channel, records, keepsRecords, clock, build, instruments, log }: PortsOptions,
  owner: Lifetime,
): NodePorts {
  const { sample } = owner.own("process metrics", observeProcess(instruments, build), (it) => it.close());
  const read = (): ReturnType<Instruments["read"]> => {
    sample();
    return instruments.read();
  };
  owner.own("metrics", sendMetrics(channel, { read }), (end) => end());
  const budgets = owner.own("budgets", borrowBudgets({ channel, clock, instruments, log }), (it) => it.close());
  answerCatchUp(channel, budgets);
  return {
    sinks: {
      statistics: sendStatistics(channel),
      refusals: sendRefusals(channel),
      finished: sendFinished(channel),
      ...(keepsRecords && { decisions: sendRequestRecords(channel) }),
    },
    governancePorts: {
      budgets,
      trail: { record: sendDecisions(records, systemClock.now), recordFailedAuthentication: sendFailures(channel) },
      ledger: sendUsage(channel),
    },
  };
}
