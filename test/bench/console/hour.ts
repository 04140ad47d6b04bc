/**
 * The memory of a console over as many answers as two per second for an hour, in minutes: a console without pauses
 * between reads. Leaks grow with answers and frames, and not with time.
 */

import type { Figure } from "../parts/figures.ts";
import { residentBytes } from "../parts/process-usage.ts";
import type { Scenario } from "../parts/scenario.ts";
import { type Point, slope } from "../statistics.ts";
import { onStage, openConsole, openEndpoint, pause, quit, type StageOptions, toKeys } from "./stage.ts";

const KEYS = 1_000;
const ANSWERS = 7_200;
const CHANGES = 40;
/** A busy machine delivers fewer answers in this time; the table shows how many. */
const LIMIT_MS = 900_000;
/** The heap grows at first; its later growth counts. */
const WARM_SHARE = 0.25;

export const HOUR: Scenario<StageOptions> = {
  name: "hour",
  run: (input) =>
    onStage(async (owner) => {
      const wanted = input.isQuick ? ANSWERS / 10 : ANSWERS;
      const endpoint = await openEndpoint(owner, KEYS);
      const terminal = openConsole(owner, endpoint, input, "hour");
      await toKeys(terminal);
      const first = residentBytes(terminal.pid);
      const command = { changes: CHANGES, tables: ["keys"] } as const;
      let { answers } = await endpoint.configure(command);
      const until = answers + wanted;
      const from = answers;
      const points: Point[] = [];
      const begunAt = performance.now();
      while (answers < until && performance.now() - begunAt < LIMIT_MS) {
        await pause(1_000);
        await terminal.press(points.length % 2 === 0 ? "j" : "k");
        ({ answers } = await endpoint.configure(command));
        points.push({ x: answers - from, y: residentBytes(terminal.pid) });
      }
      const after = (share: number): readonly Point[] => points.filter(({ x }) => x >= (answers - from) * share);
      const settled = after(WARM_SHARE);
      await quit(terminal);
      const resident = (when: string, bytes: number | undefined, detail: string): Figure => {
        return { name: `resident ${when}`, value: (bytes ?? Number.NaN) / 1e6, unit: "MB", aim: undefined, detail };
      };
      const perHour = slope(settled) * ANSWERS;
      return [
        resident("at the start", first, `${KEYS} keys`),
        resident("after a quarter", settled[0]?.y, ""),
        resident("after a half", after(0.5)[0]?.y, ""),
        resident("after three quarters", after(0.75)[0]?.y, ""),
        resident("at the end", points.at(-1)?.y, `${answers - from} of ${wanted} answers`),
        {
          name: "growth in 7,200 answers",
          value: perHour / 1e6,
          unit: "MB",
          aim: { atMost: 10 },
          detail: "slope after the first quarter",
        },
      ];
    }),
};
