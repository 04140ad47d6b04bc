/**
 * The memory of a console over as many answers as two a second bring in an hour, in minutes: a console whose reads do not
 * rest. What leaks leaks by the answer and by the frame, and not by the clock.
 */

import { residentBytes } from "../parts/process-usage.ts";
import type { Scenario } from "../parts/scenario.ts";
import { type Point, slope } from "../statistics.ts";
import { type Given, onStage, openConsole, openDoor, pause, quit, toKeys } from "./stage.ts";

const KEYS = 1_000;
const ANSWERS = 7_200;
const CHANGES = 40;
/** A machine that is busy with other things brings fewer answers in this time; the table says how many. */
const LIMIT_MS = 900_000;
/** The collector lets the heap grow at first; what it does then is what counts. */
const WARM_SHARE = 0.25;

export const HOUR: Scenario<Given> = {
  name: "hour",
  run: (given) =>
    onStage(async (owner) => {
      const wanted = given.isQuick ? ANSWERS / 10 : ANSWERS;
      const door = await openDoor(owner, KEYS);
      const terminal = openConsole(owner, door, given, "hour");
      await toKeys(terminal);
      const first = residentBytes(terminal.pid);
      const told = { changes: CHANGES, tables: ["keys"] } as const;
      let { answers } = await door.tell(told);
      const until = answers + wanted;
      const from = answers;
      const points: Point[] = [];
      const begunAt = performance.now();
      while (answers < until && performance.now() - begunAt < LIMIT_MS) {
        await pause(1_000);
        await terminal.press(points.length % 2 === 0 ? "j" : "k");
        ({ answers } = await door.tell(told));
        points.push({ x: answers - from, y: residentBytes(terminal.pid) });
      }
      const settled = points.filter(({ x }) => x >= (answers - from) * WARM_SHARE);
      const last = points.at(-1)?.y ?? Number.NaN;
      const begin = settled[0]?.y ?? Number.NaN;
      await quit(terminal);
      const perHour = slope(settled) * ANSWERS;
      return [
        { name: "resident at the start", value: first / 1e6, unit: "MB", aim: undefined, detail: `${KEYS} keys` },
        { name: "resident after a quarter", value: begin / 1e6, unit: "MB", aim: undefined, detail: "" },
        {
          name: "resident at the end",
          value: last / 1e6,
          unit: "MB",
          aim: undefined,
          detail: `${answers - from} of ${wanted} answers`,
        },
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
