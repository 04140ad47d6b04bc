/** Resident memory of the gateway over 300,000 requests: its size and stability. */

import type { Piece } from "./parts/children.ts";
import { residentBytes } from "./parts/process-usage.ts";
import { type Judged, judge } from "./report.ts";
import { load, type RunLoad } from "./rounds.ts";
import { MAX_RSS_GROWTH_MIB, MAX_RSS_MIB, RSS_REQUESTS, RSS_SAMPLE_EVERY } from "./scenarios.ts";

const CONNECTIONS = 32;

export async function measureMemory(server: Piece, scale: number, ask: RunLoad): Promise<readonly Judged[]> {
  const every = RSS_SAMPLE_EVERY * scale;
  const samples = [residentBytes(server.pid) / 2 ** 20];
  for (let sent = 0; sent < RSS_REQUESTS * scale; sent += every) {
    const shape = { kind: "unary", model: "bench-model" } as const;
    await load(ask, { port: server.port, shape, connections: CONNECTIONS, requests: every });
    samples.push(residentBytes(server.pid) / 2 ** 20);
  }
  // The first 100,000 requests fill caches, pools and the young generation; growth counts afterwards. A quick run ends
  // before that, so its growth is shown and not judged.
  const growth = (samples.at(-1) ?? Number.NaN) - (samples[2] ?? Number.NaN);
  const maxGrowthMib = scale === 1 ? MAX_RSS_GROWTH_MIB : undefined;
  const most = Math.max(...samples);
  const course = samples.map((mib) => mib.toFixed(0)).join(" ");
  return [
    {
      name: `rss: most over ${RSS_REQUESTS * scale} requests, flag mode`,
      value: `${most.toFixed(0)} MiB`,
      target: `${MAX_RSS_MIB} MiB`,
      verdict: judge(most, MAX_RSS_MIB),
      detail: `every ${every}: ${course}`,
    },
    {
      name: `rss: growth after the first ${2 * every}`,
      value: `${growth.toFixed(1)} MiB`,
      target: maxGrowthMib === undefined ? "" : `${maxGrowthMib} MiB`,
      verdict: judge(growth, maxGrowthMib),
      detail: "",
    },
  ];
}
