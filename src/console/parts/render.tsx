/**
 * Puts the console on the screen through Ink, and keeps it there: one tree for as long as the size stays, a new one when
 * it changes or when all is to be painted anew.
 *
 * A state that comes while the terminal is still taking the frame before is not queued: once there is room the newest is
 * drawn (`pacing.ts`). After the first frame nothing here writes ESC[2J or ESC[3J; anew means ESC[H ESC[J and every line.
 */

import { render } from "ink";
import { createElement } from "react";
import type { Spoken } from "../draw/spoken-node.ts";
import type { Line } from "../model/text.ts";
import { Guard } from "./guard.tsx";
import { LinearScreen } from "./linear.tsx";
import { INK_INPUT, type InkOutput, inkOutput } from "./output.ts";
import { createPacing, type OutputGate } from "./pacing.ts";
import { createPaintedRows, TOKEN_CELLS } from "./rows.ts";
import { type Frame, keptLines, Screen } from "./screen.tsx";
import { takeConsole } from "./take-console.ts";
import type { Theme } from "./theme.ts";

export interface ScreenStore {
  /** Told after each change of what the others answer; `isByItself`: the operator did nothing that led to it. */
  subscribe(listener: (isByItself?: boolean) => void): () => void;
  /** `rows - 1` lines of at most `columns` cells. */
  getLines(): readonly Line[];
  /** The same for a screen reader. */
  getSpoken(): Spoken;
  readonly size: { readonly columns: number; readonly rows: number };
}

export type { OutputGate };

export interface RenderOptions {
  readonly stdout: { write(text: string): unknown };
  readonly store: ScreenStore;
  readonly theme: Theme;
  readonly isScreenReader: boolean;
  readonly gate: OutputGate;
  /** Once at most; the screen is gone then, and nothing was printed. */
  onCrash(error: unknown): void;
  /** What something printed through `console`, which would have torn the screen. */
  onPrinted?(words: string): void;
  /** After each frame, with the milliseconds it took to lay out. */
  onFrame?(tookMs: number): void;
}

export interface RenderedConsole {
  /** Takes the tree away and writes nothing more: what is on the screen is the terminal's to leave. */
  unmount(): void;
  /** Paints everything anew, as after another program had the screen. */
  redraw(): void;
  /** Paints everything anew with it. */
  retheme(theme: Theme): void;
}

/** Twice as often as Ink by itself: a key is answered within a sixtieth of a second. */
const MAX_FPS = 60;
/** Home, and everything from there on away; held back (2026) until the frame that follows is there. */
const ANEW = "\x1b[?2026h\x1b[H\x1b[J";

interface Mounted {
  readonly output: InkOutput;
  unmount(): void;
}

export function renderConsole(options: RenderOptions): RenderedConsole {
  const { stdout, store, isScreenReader, gate } = options;
  let { theme } = options;
  const listeners = new Set<() => void>();
  let frame: Shown = take(store, isScreenReader);
  let mounted: Mounted | undefined;
  let isOver = false;

  const frames = {
    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    current: () => frame,
  };

  function mount(): Mounted {
    const painted = createPaintedRows();
    const output = inkOutput(
      (text) => stdout.write(painted.fill(text)),
      () => ({ columns: isScreenReader ? frame.columns : TOKEN_CELLS, lines: frame.lines.length }),
    );
    const tree = isScreenReader
      ? createElement(LinearScreen, { source: frames })
      : createElement(Screen, { frames, theme, painted });
    const instance = render(
      <Guard onFailing={output.mute} onFailed={crash}>
        {tree}
      </Guard>,
      {
        stdout: output.stream,
        stderr: output.stream,
        stdin: INK_INPUT,
        exitOnCtrlC: false,
        patchConsole: false,
        incrementalRendering: true,
        isScreenReaderEnabled: isScreenReader,
        maxFps: MAX_FPS,
        onRender: ({ renderTime }) => options.onFrame?.(renderTime),
      },
    );
    instance.waitUntilExit().then(undefined, crash);
    return {
      output,
      unmount() {
        output.mute();
        instance.unmount();
      },
    };
  }

  function crash(error: unknown): void {
    if (isOver) return;
    // Out of React's own work before its tree is taken away.
    queueMicrotask(() => {
      if (isOver) return;
      end();
      options.onCrash(error);
    });
  }

  function redraw(): void {
    if (isOver) return;
    mounted?.unmount();
    stdout.write(ANEW);
    mounted = mount();
  }

  function draw(): void {
    if (isOver) return;
    try {
      const next = take(store, isScreenReader);
      const isResized = next.columns !== frame.columns || next.lines.length !== frame.lines.length;
      const lines = keptLines(frame.lines, next.lines);
      // Most of what is told of changes nothing that is on the screen; Ink would take the frame apart to find it out.
      if (!isResized && !isScreenReader && lines === frame.lines) return;
      frame = { ...next, lines };
      if (isResized) redraw();
      else for (const listener of listeners) listener();
    } catch (error) {
      crash(error);
    }
  }

  const giveConsoleBack = takeConsole((words) => options.onPrinted?.(words));
  const pacing = createPacing({ gate, draw, onFailed: crash });
  const unsubscribe = store.subscribe((isByItself = false) => pacing.want(isByItself));

  function end(): void {
    isOver = true;
    unsubscribe();
    pacing.stop();
    mounted?.unmount();
    mounted = undefined;
    giveConsoleBack();
  }

  redraw();
  return {
    unmount() {
      if (!isOver) end();
    },
    redraw,
    retheme(next) {
      theme = next;
      redraw();
    },
  };
}

type Shown = Frame & { readonly spoken: Spoken };

function take(store: ScreenStore, isScreenReader: boolean): Shown {
  return {
    lines: isScreenReader ? [] : store.getLines(),
    spoken: isScreenReader ? store.getSpoken() : [],
    columns: store.size.columns,
  };
}
