/** From the byte of a key to its effect on the screen, in a list of ten thousand keys that changes meanwhile. */

import type { TestTerminal } from "../../console/support/terminal.ts";
import type { Figure } from "../parts/figures.ts";
import type { Scenario } from "../parts/scenario.ts";
import { percentile } from "../statistics.ts";
import {
  onStage,
  openConsole,
  openEndpoint,
  pause,
  quit,
  type StageOptions,
  toKeys,
  toView,
  written,
} from "./stage.ts";

const KEYS = 10_000;
const PRESSES = 600;
const CHANGES = 20;
/** Pause between a frame and the next key: a person is slower, a held key about as fast. */
const MIN_PAUSE_MS = 15;
const MAX_PAUSE_MS = 75;
const HELD_MS = 3_000;
const KEY_MS = 10;

async function press(terminal: TestTerminal, count: number): Promise<readonly number[]> {
  const took: number[] = [];
  for (let at = 0; at < count; at += 1) {
    await pause(MIN_PAUSE_MS + ((at * 37) % (MAX_PAUSE_MS - MIN_PAUSE_MS)));
    const cursor = at % 10 < 5 ? (at % 5) + 1 : 4 - (at % 5);
    const sought = `>key-${String(cursor).padStart(5, "0")}`;
    const begunAt = performance.now();
    terminal.type(at % 10 < 5 ? "j" : "k");
    await terminal.until((screen) => screen.includes(sought), sought);
    took.push(performance.now() - begunAt);
  }
  return took;
}

/** Moves the charts' cursor back in time and forward again; each moment shows its time. */
async function moveInTime(terminal: TestTerminal, count: number): Promise<readonly number[]> {
  const took: number[] = [];
  const moment = (screen: string): string => /(\d\d:\d\d:\d\d)Z?, [^│]* ago/.exec(screen)?.[1] ?? "now";
  for (let at = 0; at < count; at += 1) {
    await pause(MIN_PAUSE_MS + ((at * 37) % (MAX_PAUSE_MS - MIN_PAUSE_MS)));
    const before = moment(terminal.screen());
    const begunAt = performance.now();
    await terminal.press(at % 20 < 10 ? "left" : "right");
    await terminal.until((screen) => moment(screen) !== before, "another moment");
    took.push(performance.now() - begunAt);
  }
  return took;
}

/** Frames per second while a key is held that repeats faster than frames are made. */
async function hold(terminal: TestTerminal): Promise<number> {
  const begunAt = performance.now();
  const { frames } = await written(terminal, async () => {
    while (performance.now() - begunAt < HELD_MS) {
      terminal.type("j");
      await pause(KEY_MS);
    }
  });
  await terminal.settled().catch(() => undefined);
  await terminal.press("home");
  await terminal.until(">key-00000");
  return (frames * 1_000) / HELD_MS;
}

function figuresOf(name: string, took: readonly number[], aim: number | undefined): readonly Figure[] {
  return [0.5, 0.95, 0.99, 1].map((share) => ({
    name: `${name}, ${share === 1 ? "slowest" : `p${share * 100}`}`,
    value: percentile(took, share),
    unit: "ms",
    aim: aim === undefined || share === 1 ? undefined : { atMost: share === 0.5 ? aim / 2 : aim },
    detail: share === 0.5 ? `${took.length} keys` : "",
  }));
}

export const LATENCY: Scenario<StageOptions> = {
  name: "latency",
  run: (input) =>
    onStage(async (owner) => {
      const presses = input.isQuick ? PRESSES / 10 : PRESSES;
      const endpoint = await openEndpoint(owner, KEYS);
      const terminal = openConsole(owner, endpoint, input);
      await toKeys(terminal);
      await terminal.settled().catch(() => undefined);
      const still: number[] = [];
      const moves = await written(terminal, async () => void still.push(...(await press(terminal, presses / 2))));
      const held = await hold(terminal);
      await endpoint.configure({ changes: CHANGES, tables: ["keys", "budgets", "backends"] });
      await pause(2_000);
      const changing = await press(terminal, presses);
      await endpoint.configure({ changes: 0, tables: [] });
      await pause(1_500);
      await endpoint.configure({ changes: 2, tables: ["keys"] });
      const data = await written(terminal, () => pause(input.isQuick ? 4_000 : 20_000));
      await endpoint.configure({ changes: 0, tables: [] });
      await toView(terminal, "pulse", "REQUESTS");
      await pause(1_000);
      const pulse = await moveInTime(terminal, presses / 2);
      await quit(terminal);
      return [
        ...figuresOf("key to screen, nothing changes", still, undefined),
        ...figuresOf("key to screen, pulse", pulse, 50),
        ...figuresOf(`key to screen, ${CHANGES} changes a second`, changing, 50),
        { name: "frames a second, a key is held", value: held, unit: "/s", aim: { atLeast: 30 }, detail: "60 at most" },
        {
          name: "bytes of a frame, cursor moves",
          value: moves.bytes / moves.frames,
          unit: "bytes",
          aim: undefined,
          detail: `${moves.frames} frames`,
        },
        {
          name: "bytes of a frame, keys change",
          value: data.bytes / data.frames,
          unit: "bytes",
          aim: undefined,
          detail: `${data.frames} frames, the clock among them`,
        },
      ];
    }),
};
