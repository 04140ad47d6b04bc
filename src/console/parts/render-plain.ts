/**
 * Console on a terminal without cursor movement (`TERM=dumb`): the text of a screen reader, printed line by line. A line is
 * printed when it is new or changed; nothing is erased, and no escape sequence is written.
 */

import { cutToCells } from "../../base/index.ts";
import type { ReaderNode, ReaderTree } from "../draw/screen-reader-node.ts";
import { captureConsole } from "./capture-console.ts";
import { createPacing } from "./pacing.ts";
import type { RenderedConsole, RenderOptions } from "./render-console.tsx";

/** Line end in raw mode, in which a line feed alone does not return to the first column. */
const LINE_END = "\r\n";

export function renderPlain(options: Omit<RenderOptions, "theme" | "isScreenReader">): RenderedConsole {
  const { stdout, store, gate } = options;
  let printed: readonly string[] = [];
  let isOver = false;
  const giveConsoleBack = captureConsole((text) => options.onPrinted?.(text));
  const pacing = createPacing({ gate, draw, onFailed: crash });
  const unsubscribe = store.subscribe((isAutomatic = false) => pacing.requestFrame(isAutomatic));

  function draw(): void {
    if (isOver) return;
    try {
      const lines = plainLines(store.getReaderTree());
      const fresh = changedLines(printed, lines);
      printed = lines;
      const { columns } = store.size;
      if (fresh.length > 0)
        stdout.write(fresh.map((text) => cutToCells(text, Math.max(1, columns - 1)) + LINE_END).join(""));
    } catch (error) {
      crash(error);
    }
  }

  function redraw(): void {
    printed = [];
    draw();
  }

  function end(): void {
    isOver = true;
    unsubscribe();
    pacing.stop();
    giveConsoleBack();
  }

  function crash(error: unknown): void {
    if (isOver) return;
    end();
    options.onCrash(error);
  }

  redraw();
  return {
    unmount() {
      if (!isOver) end();
    },
    redraw,
    setTheme: () => undefined,
  };
}

/** Expresses roles and states in words, as `textbox: (required) Reason: it is down`. */
export function plainLines(nodes: ReaderTree): readonly string[] {
  return nodes.flatMap((node) => [...ownLine(node), ...plainLines(node.children ?? [])]);
}

function ownLine({ role, text, state = {} }: ReaderNode): readonly string[] {
  if (text === "") return [];
  const states = Object.entries(state).flatMap(([name, isSet]) => (isSet ? [name] : []));
  return [`${role === undefined ? "" : `${role}: `}${states.length === 0 ? "" : `(${states.join(", ")}) `}${text}`];
}

/** Returns the lines that were not printed as often before, in order. */
export function changedLines(before: readonly string[], now: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const text of before) left.set(text, (left.get(text) ?? 0) + 1);
  return now.filter((text) => {
    const count = left.get(text) ?? 0;
    if (count > 0) left.set(text, count - 1);
    return count === 0;
  });
}
