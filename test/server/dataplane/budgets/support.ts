/**
 * Nodes with open budgets around the real replicated state machine, in one process. Time stands still except for
 * `pass`; a report is sent only when a test says so.
 */
import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { createInstruments, GatewayError, type Instruments, type Log } from "../../../../src/base/index.ts";
import {
  type BudgetRule,
  type ReportAnswer,
  TICK_MS,
  tokenCost,
  type Usage,
} from "../../../../src/server/core/budgets/index.ts";
import { readUsage } from "../../../../src/server/core/state/index.ts";
import {
  type BudgetsOptions,
  type Charge,
  type OpenBudgets,
  openBudgets,
  type ReportOutcome,
  type SessionCharge,
  type Spending,
  type UsageReport,
} from "../../../../src/server/dataplane/budgets/index.ts";
import { BUCKET, type Cluster, createCluster, MINUTE } from "../../core/budgets/cluster.ts";

interface Posted {
  readonly report: UsageReport;
  readonly signal: AbortSignal;
  /** Applies the report and delivers the answer to the node. */
  deliver(): void;
  /** Applies the report and loses the answer. */
  applyOnly(): void;
  lose(): void;
}

export interface TestNode {
  readonly budgets: OpenBudgets;
  readonly instruments: Instruments;
  readonly warnings: readonly string[];
  /** Reports in flight, oldest first. */
  readonly posted: Posted[];
  isTicking(): boolean;
  /** Milliseconds since it was opened, for its timers. */
  monotonic(): number;
  knowsLeader: boolean;
  /** Offset of this node's clock from the cluster's. */
  skewMs: number;
  /** Delivers everything that is sent until nothing is; returns the number of reports. */
  exchange(): Promise<number>;
  /** Advances the cluster's and this process's time tick by tick, without deliveries. */
  pass(ms: number): Promise<void>;
  tick(): Promise<void>;
  /** Gives the process a new number from the cluster. */
  renumber(): void;
  /** Makes the node a nonmember, or a member again. */
  setIncarnation(incarnation: number): void;
  metric(name: string, ...labels: string[]): number;
}

const silent: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

export function openNode(
  cluster: Cluster,
  id = "n1",
  { isStarted = true, readsLog = true }: { readonly isStarted?: boolean; readonly readsLog?: boolean } = {},
): TestNode {
  const instruments = createInstruments();
  const warnings: string[] = [];
  const posted: Posted[] = [];
  const listeners = new Set<() => void>();
  let incarnation = isStarted ? cluster.start(id) : 0;
  let onTick: (() => void) | undefined;
  const startedAt = cluster.now;

  const apply = ({ inc, rows }: UsageReport): ReportOutcome => {
    const result = cluster.apply({ node: id, inc, rows, id: 0, sentAt: 0, shares: [] });
    if (result.kind === "refused") return result;
    return { kind: "answered", rows: (result.value as { readonly rows: readonly ReportAnswer[] }).rows };
  };

  const monotonic = (): number => cluster.now - startedAt;
  const options: BudgetsOptions = {
    node: id,
    clock: { now: () => cluster.now + self.skewMs, monotonic },
    instruments,
    log: { ...silent, warn: (message) => warnings.push(message) },
    every(ms, run) {
      assert.equal(ms, TICK_MS);
      onTick = run;
      return () => {
        onTick = undefined;
      };
    },
    reports: {
      incarnation: () => incarnation,
      onIncarnation(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      takesPledges: () => true,
      hasLeader: () => self.knowsLeader,
      logNow: () => (readsLog ? cluster.state.applied.now : 0),
      report: (report, signal) =>
        new Promise((resolve, reject) => {
          const remove = (one: Posted): void => void posted.splice(posted.indexOf(one), 1);
          const one: Posted = {
            report,
            signal,
            deliver() {
              remove(one);
              resolve(apply(report));
            },
            applyOnly() {
              remove(one);
              apply(report);
              reject(new Error("lost"));
            },
            lose() {
              remove(one);
              reject(new Error("lost"));
            },
          };
          posted.push(one);
          signal.addEventListener("abort", () => posted.includes(one) && one.lose(), { once: true });
        }),
    },
  };

  const self: Omit<TestNode, "budgets"> = {
    instruments,
    warnings,
    posted,
    knowsLeader: true,
    skewMs: 0,
    monotonic,
    isTicking: () => onTick !== undefined,
    async exchange() {
      let reports = 0;
      await turn();
      for (let next = posted[0]; next !== undefined; next = posted[0]) {
        next.deliver();
        reports += 1;
        assert.ok(reports < 1_000, "asks without end");
        await turn();
        await turn();
      }
      return reports;
    },
    async pass(ms) {
      for (let left = ms; left > 0; left -= TICK_MS) {
        cluster.now += Math.min(left, TICK_MS);
        await self.tick();
      }
    },
    async tick() {
      onTick?.();
      await turn();
    },
    renumber() {
      self.setIncarnation(cluster.start(id));
    },
    setIncarnation(next) {
      incarnation = next;
      for (const listener of listeners) listener();
    },
    metric(name, ...labels) {
      const reading = instruments.read().find((one) => one.name === name);
      assert.ok(reading !== undefined && reading.kind !== "histogram", `no number ${name}`);
      const series = reading.series.find(({ labelValues }) => labelValues.join() === labels.join());
      return series?.value ?? 0;
    },
  };
  return Object.assign(self, { budgets: openBudgets(options) });
}

export const ruleOf = (limit: number, more: Partial<BudgetRule> = {}): BudgetRule => ({
  name: "team",
  isShared: true,
  windowMs: MINUTE,
  limit,
  limitRev: 1,
  costType: "TotalToken",
  cost: tokenCost("TotalToken"),
  ...more,
});

const AT = { model: "m", backend: "p" } as const;

/** A request whose cost is bounded by these units, all of them output. */
export const spendingOf = (rule: BudgetRule, units: number, more: Partial<Spending> = {}): Spending => ({
  rule,
  bucket: BUCKET,
  averageKey: "m",
  at: AT,
  demand: { kind: "tokens", bounds: { input: 0, output: units, hasOutputLimit: true } },
  ...more,
});

export const flatOf = (rule: BudgetRule, units: number): Spending =>
  spendingOf(rule, 0, { demand: { kind: "flat", units } });

export const tokens = (output: number, input = 0): Usage => ({
  inputTokens: input,
  outputTokens: output,
  totalTokens: input + output,
  cachedInputTokens: 0,
  cacheCreationInputTokens: 0,
  reasoningTokens: 0,
});

/** A charge, or the code of the refusal, once it is known. */
type Decision<Held = Charge> = Held | GatewayError | undefined;

/** Result of a reservation; `now` is undefined while it waits. */
export interface Reservation<Held> {
  readonly now: Decision<Held>;
}

export function startReservation<Held extends Charge | SessionCharge>(
  reserve: () => Held | Promise<Held>,
): Reservation<Held> {
  const reservation: { now: Decision<Held> } = { now: undefined };
  const refused = (error: unknown): void => {
    assert.ok(error instanceof GatewayError, String(error));
    reservation.now = error;
  };
  try {
    const held = reserve();
    if (!(held instanceof Promise)) reservation.now = held;
    else
      held.then((it) => {
        reservation.now = it;
      }, refused);
  } catch (error) {
    refused(error);
  }
  return reservation;
}

export function heldOf<Held extends Charge | SessionCharge>({ now }: Reservation<Held>): Held {
  if (now === undefined || now instanceof GatewayError) assert.fail(`not held: ${now?.message ?? "it waits"}`);
  return now;
}

export function refusalOf({ now }: Reservation<Charge | SessionCharge>): GatewayError {
  assert.ok(now instanceof GatewayError, now === undefined ? "it waits" : "it is held");
  return now;
}

/** A node with granted units. */
export async function provisioned(limit = 1_000) {
  const cluster = createCluster(["n1"]);
  const node = openNode(cluster);
  const rule = ruleOf(limit);
  const first = startReservation(() => node.budgets.reserve(flatOf(rule, Math.floor(limit / 4))));
  await node.exchange();
  heldOf(first).release();
  return {
    node,
    rule,
    cluster,
    reserve: (units: number) => startReservation(() => node.budgets.reserve(flatOf(rule, units))),
  };
}

export function usageIn(cluster: ReturnType<typeof createCluster>) {
  const [value] = Array.from(cluster.state.scan("usage/"), ([, row]) => readUsage(row));
  return value;
}
