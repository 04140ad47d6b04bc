/** Prints a thousand states, with three changed rows each, as one JSON line. */

import "./production.ts";
import { setTimeout as pause } from "node:timers/promises";
import type { Line } from "../../../src/console/model/text.ts";
import { createTestStore, OPEN_GATE } from "./screen-store.ts";

const { renderConsole } = await import("../../../src/console/parts/render-console.tsx");
const { DEFAULT_THEME } = await import("../../../src/console/parts/theme.ts");

const [COLUMNS, ROWS] = [120, 35];
const STATES = 1_000;
/** The first ones are a frame each; the others come faster than frames are made. */
const SLOW = 150;

const row = (at: number, turn: number): Line => [
  { text: "│", tone: "dim" },
  { text: ` provider-${at}  FAILING  ${turn}`.padEnd(COLUMNS - 2), tone: at % 5 === 0 ? "fail" : "plain" },
  { text: "│", tone: "dim" },
];

let bytes = 0;
let most = 0;
let frames = 0;
const store = createTestStore(COLUMNS, ROWS);
let lines: readonly Line[] = Array.from({ length: ROWS - 1 }, (_, at) => row(at, 0));
store.set(lines);
const screen = renderConsole({
  stdout: {
    write(text: string) {
      bytes += Buffer.byteLength(text);
    },
  },
  store: store,
  theme: DEFAULT_THEME,
  isScreenReader: false,
  gate: OPEN_GATE,
  onCrash(error) {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
  },
  onFrame: () => {
    frames += 1;
  },
});
await pause(50);
const first = bytes;
bytes = 0;
const took: number[] = [];
for (let turn = 1; turn <= STATES; turn += 1) {
  const before = bytes;
  lines = lines.map((line, at) =>
    at === turn % 30 || at === (turn + 7) % 30 || at === (turn + 13) % 30 ? row(at, turn) : line,
  );
  const startedAt = performance.now();
  store.set(lines);
  // React applies the state in a microtask, and Ink writes the frame there.
  await new Promise<void>((resolve) => setImmediate(resolve));
  if (turn > SLOW) continue;
  took.push(performance.now() - startedAt);
  await pause(20);
  most = Math.max(most, bytes - before);
}
await pause(50);
screen.unmount();
took.sort((a, b) => a - b);
const p95 = took[Math.floor(took.length * 0.95)];
const measures = performance.getEntriesByType("measure").length;
process.stdout.write(`${JSON.stringify({ first, most, frames, p95, measures })}\n`);
