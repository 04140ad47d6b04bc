/** Reserves the cost of a request before it is forwarded, and creates its meter. */
import type { Charge } from "../../budgets/index.ts";
import type { EffectiveProfile } from "../../governance/effective-profile.ts";
import { createMeter, type Meter, type RequestUse } from "../../metering/index.ts";
import type { Ports } from "../../ports.ts";
import type { RequestReport } from "../../request-report.ts";
import type { AdmittedProvider } from "./admit.ts";
import type { Target } from "./resolve-target.ts";
import { requestSpending } from "./spending.ts";

/** Returns the fields of the usage ledger's entry: the destination of the request, as far as it is known. */
export const usageDestination = ({ provider: { name: provider }, label, route: { name: route } }: Target) =>
  ({ hop: "llm", provider, label, route }) as const;

interface UsageCounting {
  readonly report: Pick<RequestReport, "facts" | "labels">;
  /** Entry of the usage ledger; `undefined` if none is kept. */
  readonly usage: RequestUse | undefined;
}

/**
 * Reserves the cost of the request. Returns `undefined` if it is not metered, and a promise only if it must wait for an
 * allowance.
 */
export function reserve(
  target: Target,
  first: AdmittedProvider,
  effective: EffectiveProfile,
  counting: UsageCounting,
  ports: Ports,
): Meter | undefined | Promise<Meter> {
  const { governancePorts } = ports;
  if (governancePorts === undefined || !effective.governance.meters || target.route.usage === "none") return undefined;
  const spending = requestSpending(target, first, effective);
  const charge = spending && governancePorts.budgets.reserve(spending);
  return charge instanceof Promise
    ? charge.then((held) => meterOf(held, target, counting, ports))
    : meterOf(charge, target, counting, ports);
}

const meterOf = (
  charge: Charge | undefined,
  { route, label }: Target,
  { report, usage: use }: UsageCounting,
  { metrics, statistics }: Ports,
): Meter => {
  report.facts.trace?.recordCharge(charge);
  return createMeter({
    charge,
    route,
    label,
    metrics: metrics.usage,
    onUnits: (provider, units) => statistics?.of(provider)?.addUnits(units),
    onUsage(usage) {
      report.facts.addUsage(usage);
      metrics.conventions.recordUsage(report.labels, usage);
    },
    account: use,
  });
};
