/** Real budgets over the real state machine, whose reports are applied at once, with the number of open charges. */
import { createInstruments, nullLog } from "../../../../src/base/index.ts";
import type { ReportAnswer } from "../../../../src/server/core/budgets/index.ts";
import {
  type Budgets,
  type Charge,
  type OpenBudgets,
  openBudgets,
} from "../../../../src/server/dataplane/budgets/index.ts";
import { createCluster } from "../../core/budgets/cluster.ts";

const NODE = "n1";
const ENDS = [
  "settle",
  "settleUnused",
  "settleDoubtful",
  "abort",
  "release",
] as const satisfies readonly (keyof Charge)[];

interface CountedBudgets {
  readonly budgets: Budgets;
  /** Charges that were issued and have not ended. */
  open(): number;
  close(): ReturnType<OpenBudgets["close"]>;
}

export function openCountedBudgets(): CountedBudgets {
  const cluster = createCluster([NODE]);
  const incarnation = cluster.start(NODE);
  const budgets = openBudgets({
    node: NODE,
    clock: { now: () => cluster.now, monotonic: () => performance.now() },
    instruments: createInstruments(),
    log: nullLog,
    reports: {
      incarnation: () => incarnation,
      onIncarnation: () => () => true,
      takesPledges: () => true,
      hasLeader: () => true,
      logNow: () => cluster.state.applied.now,
      async report({ inc, rows }) {
        const result = cluster.apply({ node: NODE, inc, rows, id: 0, sentAt: 0, shares: [] });
        if (result.kind === "refused") return result;
        return { kind: "answered", rows: (result.value as { readonly rows: readonly ReportAnswer[] }).rows };
      },
    },
  });
  const open = new Set<Charge>();
  const counted = (charge: Charge): Charge => {
    open.add(charge);
    const wrapped: Charge = Object.create(charge);
    for (const method of ["spend", "attempt", ...ENDS] as const) {
      Object.defineProperty(wrapped, method, {
        value: (...args: never[]) => {
          if (ENDS.some((end) => end === method)) open.delete(charge);
          return (charge[method] as (...input: never[]) => void).apply(charge, args);
        },
      });
    }
    for (const value of ["spent", "reserved"] as const)
      Object.defineProperty(wrapped, value, { get: () => charge[value] });
    return wrapped;
  };
  return {
    budgets: {
      ...budgets,
      reserve(spending) {
        const charge = budgets.reserve(spending);
        return charge instanceof Promise ? charge.then(counted) : counted(charge);
      },
    },
    open: () => open.size,
    close: () => budgets.close(),
  };
}
