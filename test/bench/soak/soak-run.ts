/**
 * One soak: simulator and gateway as processes, the clients here; load, drain, and the checks. The gateway runs in flag
 * mode with metrics, under the probe that counts what is alive.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Alive } from "../child/probe.ts";
import { freePort, startAsked, startChild, waitForPort } from "../parts/children.ts";
import { compilePieces } from "../parts/compile.ts";
import { flagArguments } from "../parts/gateway.ts";
import { type Descriptors, readDescriptors } from "../parts/process-usage.ts";
import {
  type Check,
  checkAtMost,
  checkEqual,
  checkGrowth,
  type KindCount,
  reconcile,
  type SimulatorCounts,
} from "./checks.ts";
import { CLIENT_KINDS, createTally, runClient } from "./clients.ts";
import { get, parseMetrics, type Series, sumOf } from "./metrics.ts";
import type { SoakOptions } from "./options.ts";
import { type Courses, countTimers, type Watched, watch } from "./watch.ts";

/** The simulator allows idle connections 75 s, which the gateway may use; a socket that is open after this is leaked. */
const DRAIN_TIMEOUT_MS = 100_000;
/** Fitted rise over two thirds of the run. What is alive is the floor of the heap, so little is allowed; RSS breathes. */
const MOST_ALIVE_RISE_MIB = 2;
const MOST_RSS_RISE_MIB = 12;
/** Timers under load follow the number of requests in flight, which is constant but for chance. */
const MOST_TIMER_RISE = 8;
const MOST_DESCRIPTOR_RISE = 12;

export interface SoakResult {
  readonly kinds: readonly KindCount[];
  readonly checks: readonly Check[];
}

interface Baseline {
  readonly descriptors: Descriptors;
  readonly alive: Alive;
}

export async function runSoak(options: SoakOptions, note: (line: string) => void): Promise<SoakResult> {
  const pieces = await compilePieces();
  const [port, metricsPort, simulatorPort] = [await freePort(), await freePort(), await freePort()];
  const simulator = startChild(process.execPath, [
    options.gateway,
    "simulate",
    "-listen",
    `127.0.0.1:${simulatorPort}`,
  ]);
  await waitForPort(simulatorPort, simulator);
  const nodeFlags = ["--expose-gc", "--require", pieces.probe];
  const args = flagArguments(port, metricsPort, simulatorPort);
  const gateway = startAsked<object, Alive>(options.gateway, args, nodeFlags);
  await waitForPort(port, gateway);
  await waitForPort(metricsPort, gateway);

  const baseline = await settle(gateway, () => true);
  const ended = AbortSignal.timeout(options.seconds * 1_000);
  const watching = watch(gateway, ended, note);
  const kinds = await load(port, ended);
  const courses = await watching;
  note("draining");
  const drained = await settle(gateway, ({ descriptors, alive }) => {
    return descriptors.sockets <= baseline.descriptors.sockets && countTimers(alive) <= countTimers(baseline.alive);
  });

  const series = parseMetrics(await get(metricsPort, "/metrics"));
  const counts = JSON.parse(await get(simulatorPort, "/sim/counts")) as SimulatorCounts;
  const checks = [
    ...checkRest(baseline, drained, series),
    ...checkCourses(courses),
    ...reconcile(kinds, series, counts),
  ];
  await gateway.stop();
  await simulator.stop();
  return { kinds, checks };
}

async function load(port: number, ended: AbortSignal): Promise<readonly KindCount[]> {
  const counted = CLIENT_KINDS.map((kind) => ({ kind, tally: createTally() }));
  const clients = counted.flatMap(({ kind, tally }) =>
    Array.from({ length: kind.count }, () => runClient(kind, port, tally, ended)),
  );
  await Promise.all(clients);
  return counted.map(({ kind, tally }) => ({ kind, ...tally }));
}

/** Waits until the gateway is as it should be, or until it is not going to be; gives how it is then. */
async function settle(gateway: Watched, isSettled: (now: Baseline) => boolean): Promise<Baseline> {
  const deadline = performance.now() + DRAIN_TIMEOUT_MS;
  for (;;) {
    await sleep(1_000);
    const alive = await gateway.ask({});
    const now = { alive, descriptors: readDescriptors(gateway.pid) ?? { open: 0, sockets: 0 } };
    if (isSettled(now) || performance.now() > deadline) return now;
  }
}

function checkRest(baseline: Baseline, drained: Baseline, series: readonly Series[]): readonly Check[] {
  return [
    checkAtMost("sockets are back where they were", drained.descriptors.sockets, baseline.descriptors.sockets),
    checkAtMost("timers are back where they were", countTimers(drained.alive), countTimers(baseline.alive)),
    checkEqual("no request is in flight", sumOf(series, "gateway_in_flight_requests"), 0),
  ];
}

function checkCourses(courses: Courses): readonly Check[] {
  return [
    checkGrowth(courses.rssMib, { name: "resident memory", unit: "MiB", mostRise: MOST_RSS_RISE_MIB }),
    checkGrowth(courses.heapMib, { name: "memory alive after collection", unit: "MiB", mostRise: MOST_ALIVE_RISE_MIB }),
    checkGrowth(courses.descriptors, { name: "the number of descriptors", unit: "", mostRise: MOST_DESCRIPTOR_RISE }),
    checkGrowth(courses.timers, { name: "the number of timers", unit: "", mostRise: MOST_TIMER_RISE }),
  ];
}
