/** Idle cost of a console, and its startup time. */

import type { Figure } from "../parts/figures.ts";
import { cpuMicros, residentBytes } from "../parts/process-usage.ts";
import type { Scenario } from "../parts/scenario.ts";
import { onStage, openConsole, openEndpoint, pause, quit, type StageOptions, toKeys, toView } from "./stage.ts";

const KEYS = 10_000;
const IDLE_MS = 30_000;
/** Until the list of requests has a node's full length, at 5,000 a second. */
const FILLED_MS = 1_000;

const OTHERS: readonly (readonly [name: string, shows: RegExp])[] = [
  ["requests", /p\d+-chat/],
  ["pulse", /REQUESTS/],
];

async function cpuPercent(pid: number, ms: number): Promise<number> {
  const [before, from] = [cpuMicros(pid), performance.now()];
  await pause(ms);
  return (cpuMicros(pid) - before) / ((performance.now() - from) * 10);
}

export const IDLE: Scenario<StageOptions> = {
  name: "idle",
  run: (input) =>
    onStage(async (owner) => {
      const ms = input.isQuick ? IDLE_MS / 6 : IDLE_MS;
      const endpoint = await openEndpoint(owner, KEYS);
      const begunAt = performance.now();
      const terminal = openConsole(owner, endpoint, input);
      await terminal.until("gateway");
      const firstMs = performance.now() - begunAt;
      await terminal.until("live");
      await terminal.until("20 ok");
      const liveMs = performance.now() - begunAt;
      await toKeys(terminal);
      await pause(3_000);
      const keysPercent = await cpuPercent(terminal.pid, ms);
      await terminal.press("1");
      await pause(2_000);
      const overviewPercent = await cpuPercent(terminal.pid, ms);
      await endpoint.configure({ changes: 0, tables: [], requests: 5_000 });
      await pause(FILLED_MS);
      await endpoint.configure({ changes: 0, tables: [] });
      const others: Figure[] = [];
      for (const [name, shows] of OTHERS) {
        await toView(terminal, name, shows);
        await pause(2_000);
        const value = await cpuPercent(terminal.pid, ms);
        others.push({ name: `core, ${name}, nothing changes`, value, unit: "%", aim: { atMost: 2 }, detail: "" });
        const resident = residentBytes(terminal.pid) / 1e6;
        others.push({ name: `resident, ${name}`, value: resident, unit: "MB", aim: undefined, detail: "after it" });
      }
      await terminal.press("1");
      await terminal.until("Overview");
      await endpoint.configure({ changes: 1, tables: ["cluster_members", "backends"] });
      await pause(1_000);
      const changingPercent = await cpuPercent(terminal.pid, ms);
      const rss = residentBytes(terminal.pid) / 1e6;
      await quit(terminal);
      const detail = `over ${ms / 1_000} s`;
      const aim = { atMost: 2 };
      return [
        { name: "start to first frame", value: firstMs, unit: "ms", aim: { atMost: 1_000 }, detail: "" },
        { name: "start to live", value: liveMs, unit: "ms", aim: undefined, detail: "10,000 keys, 20 providers" },
        { name: "core, keys, nothing changes", value: keysPercent, unit: "%", aim, detail },
        { name: "core, overview, nothing changes", value: overviewPercent, unit: "%", aim, detail },
        ...others,
        {
          name: "core, overview, lists change once a second",
          value: changingPercent,
          unit: "%",
          aim: undefined,
          detail: `${detail}; members and providers`,
        },
        { name: "resident", value: rss, unit: "MB", aim: undefined, detail: "after it" },
      ];
    }),
};
