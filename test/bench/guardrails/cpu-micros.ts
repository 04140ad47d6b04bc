/** Shared by the guardrail bench scenarios. */

import type { ScenarioOptions } from "../parts/scenario.ts";

export type BenchSpeed = Pick<ScenarioOptions, "isQuick">;

/** User CPU time of one call in microseconds: the minimum of several series, since disturbances only add to it. */
export function cpuMicrosOf(call: () => void, { isQuick }: BenchSpeed, calls = 200): number {
  const series = isQuick ? 4 : 12;
  for (let each = 0; each < calls; each++) call();
  let least = Number.POSITIVE_INFINITY;
  for (let each = 0; each < series; each++) {
    const before = process.cpuUsage();
    for (let again = 0; again < calls; again++) call();
    least = Math.min(least, process.cpuUsage(before).user / calls);
  }
  return least;
}
