/** Steps of an operator in an incident, and what they show. */
import { setTimeout as pause } from "node:timers/promises";
import { until } from "../../cluster/support/until.ts";
import type { Owner } from "../../support/wait.ts";
import {
  type ConsoleUnderTest,
  type IncidentCluster,
  type Member,
  openConsole,
  SLOW_MS,
  statusOf,
} from "./incident-cluster.ts";

/** Lines of the frame: identity, health, and the message at the end. */
export const HEALTH = 1;
const flashOf = (console: ConsoleUnderTest): string => console.row(console.rows - 2);

/** Pause between two batches of requests, so that the screen shows the result of one before the next. */
const BETWEEN_MS = 1_000;

export async function openOn(to: Owner, urls: readonly string[]): Promise<ConsoleUnderTest> {
  const console = await openConsole(to, { urls });
  await console.shows(/ live \ds/);
  return console;
}

/** Resolves when the queried node has called the failing provider and the console shows it. */
export async function isFailing(cluster: IncidentCluster, console: ConsoleUnderTest): Promise<void> {
  await until(
    "the failing provider in the health line",
    async () => {
      if (/providers 1 ok 1 FAIL/.test(console.row(HEALTH))) return true;
      await cluster.traffic(await running(cluster));
      await pause(BETWEEN_MS);
      return false;
    },
    SLOW_MS,
  );
  await console.shows(/^│>(! FAIL|acme-chat)/m);
}

async function running(cluster: IncidentCluster): Promise<readonly Member[]> {
  const known = await Promise.all(
    cluster.members.map((member) =>
      statusOf(member).then(
        () => [member],
        () => [],
      ),
    ),
  );
  return known.flat();
}

/** Presses the key as long as the dialog reports a failure. */
export async function insist(console: ConsoleUnderTest, key: string, done: RegExp): Promise<void> {
  const reportedIds = new Set<string>();
  const isDone = async (): Promise<boolean> => {
    reportedIds.add(flashOf(console).trim());
    if (done.test(flashOf(console)) || done.test(console.screen())) return true;
    if (/FAILED/.test(console.screen()) && /[ │]y {2}(suspend|extend) now/.test(console.screen())) {
      await console.press(key);
      await console.settled();
    }
    return false;
  };
  try {
    await until(`the screen with ${done}`, isDone, SLOW_MS);
  } catch (cause) {
    throw new Error(`the screen never had ${done}, but said ${[...reportedIds].join(" | ")}:\n${console.screen()}`, {
      cause,
    });
  }
}
