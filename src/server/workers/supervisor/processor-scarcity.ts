/** Detects whether this process gets only a small share of a processor, because of a quota or of many other processes. */
import { setImmediate as turn } from "node:timers/promises";

/** Processor time to spend on the measurement, in milliseconds: several quota periods of 100 ms each, or scheduler turns. */
const MEASURED_MS = 12;
const SCARCE_SHARE = 0.25;
const MAX_TURNS = 100_000;

/** Returns whether the processor is scarce: spends some milliseconds of processor time, and compares them with the clock. */
export async function isProcessorScarce(): Promise<boolean> {
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  for (let turnCount = 0; turnCount < MAX_TURNS; turnCount += 1) {
    const { user, system } = process.cpuUsage(cpu);
    const spent = (user + system) / 1_000;
    if (spent >= MEASURED_MS) return spent / (performance.now() - startedAt) < SCARCE_SHARE;
    await turn();
  }
  return false;
}
