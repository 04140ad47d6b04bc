/** Reads the usage of a WebSocket session from its upstream's messages, and charges it continuously. Source: lessons P8, P12. */
import { createSessionUsage, type SessionAnswer, type Usage } from "../../core/dialects/index.ts";
import type { SessionCharge } from "../budgets/index.ts";
import type { UsageMetrics } from "./metrics.ts";
import type { Account, SessionMeter } from "./types.ts";

export interface SessionMeterOptions {
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
  readonly spent: (units: number) => void;
  /** Receives usage as it is counted. */
  readonly counted?: (usage: Usage) => void;
  readonly account?: Account | undefined;
}

export function createSessionMeter(options: SessionMeterOptions): SessionMeter {
  const { charge, provider, route, label, model = "", metrics, spent, counted, account } = options;
  const of = { provider, model };
  const usages = createSessionUsage();
  let reportedUnits = 0;
  const pay = ({ usage, isDoubtful }: SessionAnswer): void => {
    if (isDoubtful) metrics.doubted(provider, route, usage.totalTokens === 0 ? "nothing" : "impossible");
    metrics.used(provider, label, usage);
    counted?.(usage);
    account?.counted(usage, of);
    if (charge === undefined) return;
    charge.spend(usage, isDoubtful);
    if (charge.spent > reportedUnits) {
      spent(charge.spent - reportedUnits);
      account?.spent(charge.spent - reportedUnits, of);
    }
    reportedUnits = charge.spent;
  };
  return {
    message(data, isBinary) {
      const answer = usages.read(data, isBinary);
      if (answer !== undefined) pay(answer);
    },
    close() {
      const usage = usages.minimumUsage();
      if (usage === undefined) return;
      account?.unmeasured(of);
      pay({ usage, isDoubtful: false });
    },
  };
}
