/** A store for tests: its lines and its listener. */

import type { ReaderTree } from "../../../src/console/draw/screen-reader-node.ts";
import type { Line } from "../../../src/console/model/text.ts";
import type { OutputGate, ScreenStore } from "../../../src/console/parts/render-console.tsx";

export interface TestScreenStore extends ScreenStore {
  set(lines: readonly Line[], size?: { readonly columns: number; readonly rows: number }): void;
  say(readerTree: ReaderTree): void;
  fail(error: Error): void;
}

export function createTestStore(columns: number, rows: number): TestScreenStore {
  const listeners = new Set<() => void>();
  let lines: readonly Line[] = Array.from({ length: rows - 1 }, (_, at) => [{ text: `line ${at}` }]);
  let readerTree: ReaderTree = [];
  let size = { columns, rows };
  let failure: Error | undefined;
  const notify = () => {
    for (const listener of listeners) listener();
  };
  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    getLines() {
      if (failure !== undefined) throw failure;
      return lines;
    },
    getReaderTree: () => readerTree,
    get size() {
      return size;
    },
    set(next, newSize = size) {
      lines = next;
      size = newSize;
      notify();
    },
    say(next) {
      readerTree = next;
      notify();
    },
    fail(error) {
      failure = error;
      notify();
    },
  };
}

export const OPEN_GATE: OutputGate = {
  isBusy: () => false,
  whenDrained: async () => undefined,
  lastDrainMs: 0,
  drainedAt: 0,
};

/** Waits for deferred work of Ink, which paints at most sixty times a second. */
export async function settled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 60));
}
