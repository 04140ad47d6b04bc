/** Reads what a WebSocket session uses from its upstream's messages, and charges it as it goes. Source: lessons P8, P12. */
import { createSessionUsage, type Usage } from "../../core/dialects/index.ts";
import type { SessionCharge } from "../budgets/index.ts";
import type { UsageMetrics } from "./metrics.ts";
import type { Counted, SessionMeter } from "./types.ts";

export interface SessionMeterOptions {
  /** Undefined: counted, and nobody pays. */
  readonly charge: SessionCharge | undefined;
  readonly provider: string;
  /** Of the model: a name or pattern of the configuration. */
  readonly label: string;
  /** As the provider was sent it; empty where the session names none. */
  readonly model?: string;
  readonly metrics: UsageMetrics;
  /** Told what the session was charged, in cost units. */
  readonly spent: (units: number) => void;
  readonly counted?: Counted;
}

export function createSessionMeter(options: SessionMeterOptions): SessionMeter {
  const { charge, provider, label, model = "", metrics, spent, counted } = options;
  const usages = createSessionUsage();
  let told = 0;
  const pay = (usage: Usage): void => {
    metrics.used(provider, label, usage);
    counted?.(usage, { provider, model });
    if (charge === undefined) return;
    charge.spend(usage);
    if (charge.spent > told) spent(charge.spent - told);
    told = charge.spent;
  };
  return {
    message(data, isBinary) {
      const usage = usages.read(data, isBinary);
      if (usage !== undefined) pay(usage);
    },
    close() {
      const usage = usages.untold();
      if (usage !== undefined) pay(usage);
    },
  };
}
