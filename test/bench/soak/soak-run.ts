/**
 * One soak: simulator and gateway as processes, the clients here. Warm-up, idle, load, idle, drain, checks: live
 * objects of the two idle phases are compared, since under load they vary with slow readers. The gateway runs in flag
 * mode with metrics, under the probe that counts live objects.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../e2e/support/ports.ts";
import type { Alive } from "../child/probe.ts";
import { startAsked, startChild, waitForPort } from "../parts/children.ts";
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
import { CLIENT_KINDS, type ClientKind, createTally, runClient, type Tally } from "./clients.ts";
import { get, parseMetrics, type Series, sumOf } from "./metrics.ts";
import type { SoakOptions } from "./options.ts";
import { aliveMib, type Courses, countTimers, type Watched, watch } from "./watch.ts";

/**
 * The simulator keeps idle connections for 75 s, which the gateway may use; a socket open after this time is leaked.
 */
const DRAIN_TIMEOUT_MS = 100_000;
/** Time from the last client's end until nothing is in flight; an abort must reach the upstream within 100 ms. */
const REST_TIMEOUT_MS = 10_000;
/** Share of the run, with a minimum in seconds, in which caches fill, code is compiled and pools grow. */
const WARM_UP_SHARE = 0.1;
const MIN_WARM_UP_SECONDS = 8;
/** Between two idle phases, after full collections: at 100,000 requests it is 20 bytes per request. */
const MAX_ALIVE_RISE_MIB = 2;
/** Fitted rise over the run. RSS varies with the heap. */
const MAX_RSS_RISE_MIB = 12;
/** Under load both follow the number of requests in flight, which varies randomly. */
const MAX_TIMER_RISE = 8;
const MAX_DESCRIPTOR_RISE = 12;

interface SoakResult {
  readonly kinds: readonly KindCount[];
  readonly checks: readonly Check[];
}

interface Counted {
  readonly kind: ClientKind;
  readonly tally: Tally;
}

interface State {
  readonly descriptors: Descriptors;
  readonly alive: Alive;
}

export async function runSoak(options: SoakOptions, note: (line: string) => void): Promise<SoakResult> {
  const pieces = await compilePieces();
  const [port, metricsPort, simulatorPort] = [await freePort(), await freePort(), await freePort()];
  const simulatorArgs = [options.gateway, "simulate", "-listen", `127.0.0.1:${simulatorPort}`];
  const simulator = startChild(process.execPath, simulatorArgs);
  await waitForPort(simulatorPort, simulator);
  const nodeFlags = ["--expose-gc", "--require", pieces.probe];
  const args = flagArguments(port, metricsPort, simulatorPort);
  const gateway = startAsked<object, Alive>(options.gateway, args, nodeFlags);
  await waitForPort(port, gateway);
  await waitForPort(metricsPort, gateway);

  const fresh = await observe(gateway);
  const counted: readonly Counted[] = CLIENT_KINDS.map((kind) => ({ kind, tally: createTally() }));
  const warmUpSeconds = Math.max(MIN_WARM_UP_SECONDS, Math.round(options.seconds * WARM_UP_SHARE));
  note(`warming up for ${warmUpSeconds} s`);
  await load(port, counted, AbortSignal.timeout(warmUpSeconds * 1_000));
  const restBefore = await rest(gateway, metricsPort);

  const ended = AbortSignal.timeout((options.seconds - warmUpSeconds) * 1_000);
  const watching = watch(gateway, ended, note);
  await load(port, counted, ended);
  const courses = await watching;
  const restAfter = await rest(gateway, metricsPort);
  note("waiting for idle connections to close");
  const drained = await drain(gateway, fresh);

  const series = parseMetrics(await get(metricsPort, "/metrics"));
  const counts = JSON.parse(await get(simulatorPort, "/sim/counts")) as SimulatorCounts;
  const kinds = counted.map(({ kind, tally }) => ({ kind, ...tally }));
  const checks = [
    ...checkDrained(fresh, drained, series),
    checkAlive(restBefore, restAfter),
    ...checkCourses(courses),
    ...reconcile(kinds, series, counts),
  ];
  await gateway.stop();
  await simulator.stop();
  return { kinds, checks };
}

async function load(port: number, counted: readonly Counted[], ended: AbortSignal): Promise<void> {
  const clients = counted.flatMap(({ kind, tally }) =>
    Array.from({ length: kind.count }, () => runClient(kind, port, tally, ended)),
  );
  await Promise.all(clients);
}

/** Waits until nothing is in flight, then once more, so that finalized objects are freed. */
async function rest(gateway: Watched, metricsPort: number): Promise<State> {
  const deadline = performance.now() + REST_TIMEOUT_MS;
  while (performance.now() < deadline) {
    if (sumOf(parseMetrics(await get(metricsPort, "/metrics")), "gateway_in_flight_requests") === 0) break;
    await sleep(100);
  }
  await observe(gateway);
  return observe(gateway);
}

/** Waits until sockets and timers are as before, or until the timeout; returns the final state. */
async function drain(gateway: Watched, fresh: State): Promise<State> {
  const deadline = performance.now() + DRAIN_TIMEOUT_MS;
  for (;;) {
    const now = await observe(gateway);
    const isDrained =
      now.descriptors.sockets <= fresh.descriptors.sockets && countTimers(now.alive) <= countTimers(fresh.alive);
    if (isDrained || performance.now() > deadline) return now;
  }
}

async function observe(gateway: Watched): Promise<State> {
  await sleep(1_000);
  const alive = await gateway.ask({});
  return { alive, descriptors: readDescriptors(gateway.pid) ?? { open: 0, sockets: 0 } };
}

function checkDrained(fresh: State, drained: State, series: readonly Series[]): readonly Check[] {
  return [
    checkAtMost("sockets are back where they were", drained.descriptors.sockets, fresh.descriptors.sockets),
    checkAtMost("timers are back where they were", countTimers(drained.alive), countTimers(fresh.alive)),
    checkEqual("no request is in flight", sumOf(series, "gateway_in_flight_requests"), 0),
  ];
}

function checkAlive(before: State, after: State): Check {
  const [first, last] = [aliveMib(before.alive), aliveMib(after.alive)];
  return {
    name: "memory alive at rest does not grow",
    isGood: last - first <= MAX_ALIVE_RISE_MIB,
    detail: `${first.toFixed(2)} MiB after warm-up, ${last.toFixed(2)} at the end (at most ${MAX_ALIVE_RISE_MIB} more)`,
  };
}

function checkCourses(courses: Courses): readonly Check[] {
  return [
    checkGrowth(courses.rssMib, { name: "resident memory", unit: "MiB", maxRise: MAX_RSS_RISE_MIB }),
    checkGrowth(courses.descriptors, { name: "the number of descriptors", unit: "", maxRise: MAX_DESCRIPTOR_RISE }),
    checkGrowth(courses.timers, { name: "the number of timers", unit: "", maxRise: MAX_TIMER_RISE }),
  ];
}
