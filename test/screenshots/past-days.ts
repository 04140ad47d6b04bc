/**
 * Days of traffic before the pictures are taken, so that there is usage to reconcile. The nodes' clock starts some days
 * ago and advances day by day to the present. Two providers report their usage, on some days with wrong figures.
 */

import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { until } from "../e2e/cluster/support/until.ts";
import { atEnd, type Owner } from "../e2e/support/wait.ts";
import type { DemoCluster } from "./cluster.ts";

const DAY_MS = 86_400_000;
/** Past days with traffic. Those that ended a day ago are compared. */
export const PAST_DAYS = 9;
const LIMIT_MS = 90_000;
/** Time for a node's worker processes to pick up the new time. */
const WORKERS_MS = 1_500;

const REPORTING = ["acme-messages", "beta-labs"] as const;
export type Reporting = (typeof REPORTING)[number];
/** Kind of each provider's report, and the models requested from it in the past days. */
const REPORTS = {
  "acme-messages": { type: "messages", model: "messages-large" },
  "beta-labs": { type: "compat", model: "beta-1" },
} as const satisfies Record<Reporting, { readonly type: string; readonly model: string }>;

/** Starts the simulator of a provider whose usage report is read with this key. */
export async function startReporting(owner: Owner, adminKey: string): Promise<Simulator> {
  const simulator = await startSimulator({ host: "127.0.0.1", port: 0, adminKey });
  atEnd(owner, () => simulator.close());
  return simulator;
}

const dayOf = (daysAgo: number): string => new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10);

/** A day reported too low, a day reported twice, and a day that is slightly wrong. */
const ADJUSTED = [
  { type: "messages", day: dayOf(7), counter: "input", factor: 0.97 },
  { type: "messages", day: dayOf(4), counter: "output", factor: 2 },
  { type: "compat", day: dayOf(5), counter: "input", factor: 0.989 },
];

/** Sets the clock of the nodes, which read this file. */
export async function setClock(folder: string, daysAgo: number): Promise<void> {
  const path = join(folder, "clock");
  await writeFile(`${path}.new`, String(-daysAgo * DAY_MS));
  await rename(`${path}.new`, path);
}

interface PastDays {
  readonly cluster: DemoCluster;
  readonly folder: string;
  readonly simulators: Readonly<Record<Reporting, Simulator>>;
  /** Sends a request for a model. */
  ask(model: string): Promise<void>;
}

/** Resolves at the present, after the newest comparable day was compared. */
export async function livePastDays({ cluster, folder, simulators, ask }: PastDays): Promise<void> {
  for (let daysAgo = PAST_DAYS; daysAgo >= 0; daysAgo -= 1) {
    const clock = new Date(Date.now() - daysAgo * DAY_MS).toISOString();
    for (const name of REPORTING) {
      const response = await fetch(`${simulators[name].url}/sim/reports`, {
        method: "POST",
        body: JSON.stringify({ clock, delay_hours: 0, adjust: ADJUSTED }),
      });
      if (!response.ok) throw new Error(`the report of ${name} refuses ${await response.text()}`);
    }
    await setClock(folder, daysAgo);
    for (const { id, client } of Object.values(cluster)) {
      let since = Number.POSITIVE_INFINITY;
      const isAdopted = async (): Promise<boolean> => {
        const { time } = await client.call("get_status");
        const isNow = Math.abs(time?.ahead_ms ?? Number.NaN) < 5_000;
        since = isNow ? Math.min(since, performance.now()) : Number.POSITIVE_INFINITY;
        return performance.now() - since >= WORKERS_MS;
      };
      await until(`${id} goes by the time that was set`, isAdopted, LIMIT_MS);
    }
    if (daysAgo === 0) break;
    const requests = 6 + ((daysAgo * 5) % 7);
    for (let n = 0; n < requests; n += 1) for (const name of REPORTING) await ask(REPORTS[name].model);
    await until("the day is in the ledger", () => isMetered(cluster, daysAgo), LIMIT_MS);
  }
  await until("the newest days are compared", () => isCompared(cluster), LIMIT_MS);
}

async function isMetered({ n1 }: DemoCluster, daysAgo: number): Promise<boolean> {
  const { items } = await n1.client.call("list_usage");
  const day = dayOf(daysAgo);
  return REPORTING.every((name) => items.some(({ provider, hour }) => provider === name && hour.startsWith(day)));
}

async function isCompared({ n1 }: DemoCluster): Promise<boolean> {
  const { items } = await n1.client.call("list_reconcile_verdicts");
  return REPORTING.every((name) => items.some(({ provider, day }) => provider === name && day === dayOf(2)));
}
