/** Reads the usage of a WebSocket session from its upstream's messages, and charges it continuously. Source: lessons P8, P12. */
import { createSessionUsage, type SessionAnswer, type Usage } from "../../core/dialects/index.ts";
import type { SessionCharge } from "../budgets/index.ts";
import type { UsageMetrics } from "./metrics.ts";
import type { SessionMeter, UsageAccount } from "./types.ts";

interface SessionMeterOptions {
  /** Charge of the session; `undefined` if it is counted but not charged. */
  readonly charge: SessionCharge | undefined;
  readonly provider: string;
  /** Name of the route. */
  readonly route: string;
  /** Label of the model: a name or pattern of the configuration. */
  readonly label: string;
  /** Model name sent to the provider; empty if the session names none. */
  readonly model?: string;
  readonly metrics: UsageMetrics;
  /** Receives the cost units charged for the session. */
  readonly onUnits: (units: number) => void;
  /** Receives usage as it is counted. */
  readonly onUsage?: (usage: Usage) => void;
  readonly account?: UsageAccount | undefined;
}

export function createSessionMeter(options: SessionMeterOptions): SessionMeter {
  const { charge, provider, route, label, model = "", metrics, onUnits, onUsage, account } = options;
  const source = { provider, model };
  const usages = createSessionUsage();
  let reportedUnits = 0;
  const pay = ({ usage, isDoubtful }: SessionAnswer): void => {
    if (isDoubtful) metrics.countDoubt(provider, route, usage.totalTokens === 0 ? "nothing" : "impossible");
    metrics.addUsage(provider, label, usage);
    onUsage?.(usage);
    account?.addUsage(usage, source);
    if (charge === undefined) return;
    charge.spend(usage, isDoubtful);
    if (charge.spent > reportedUnits) {
      onUnits(charge.spent - reportedUnits);
      account?.addUnits(charge.spent - reportedUnits, source);
    }
    reportedUnits = charge.spent;
  };
  return {
    readMessage(data, isBinary) {
      const answer = usages.read(data, isBinary);
      if (answer !== undefined) pay(answer);
    },
    close() {
      const usage = usages.minimumUsage();
      if (usage === undefined) return;
      account?.countUnmeasured(source);
      pay({ usage, isDoubtful: false });
    },
  };
}
