/**
 * Renders the console through Ink: one tree while the size stays the same, and a new one when it changes or everything is
 * repainted.
 *
 * A state that arrives while the terminal is still accepting the previous frame is not queued: the newest state is drawn once
 * there is room (`pacing.ts`). After the first frame nothing here writes ESC[2J or ESC[3J; a repaint is ESC[H ESC[J and every
 * line.
 */

import { render } from "ink";
import { createElement } from "react";
import type { ReaderTree } from "../draw/screen-reader-node.ts";
import type { Line } from "../model/text.ts";
import { captureConsole } from "./capture-console.ts";
import { Guard } from "./error-boundary.tsx";
import { INK_INPUT, type InkOutput, inkOutput } from "./ink-output.ts";
import { type Frame, keptLines, Screen } from "./ink-screen.tsx";
import { createPacing, type OutputGate } from "./pacing.ts";
import { createPaintedRows, TOKEN_CELLS } from "./painted-rows.ts";
import { LinearScreen } from "./screen-reader-screen.tsx";
import type { Theme } from "./theme.ts";

export interface ScreenStore {
  /** Notifies of each change of the getters; `isAutomatic` means that no action of the operator caused it. */
  subscribe(listener: (isAutomatic?: boolean) => void): () => void;
  /** Returns `rows - 1` lines of at most `columns` cells. */
  getLines(): readonly Line[];
  /** Returns the content for a screen reader. */
  getReaderTree(): ReaderTree;
  readonly size: { readonly columns: number; readonly rows: number };
}

export type { OutputGate };

export interface RenderOptions {
  readonly stdout: { write(text: string): unknown };
  readonly store: ScreenStore;
  readonly theme: Theme;
  readonly isScreenReader: boolean;
  readonly gate: OutputGate;
  /** Called at most once; the screen is gone then, and nothing was printed. */
  onCrash(error: unknown): void;
  /** Called with text that was printed through `console`, which would have corrupted the screen. */
  onPrinted?(text: string): void;
  /** Called after each frame with its layout time in milliseconds. */
  onFrame?(tookMs: number): void;
}

export interface RenderedConsole {
  /** Removes the tree and writes nothing more; the contents of the screen stay. */
  unmount(): void;
  /** Repaints everything, for example after another program used the screen. */
  redraw(): void;
  /** Repaints everything with the theme. */
  setTheme(theme: Theme): void;
}

/** Maximum frame rate. It is twice Ink's default, so that a key is answered within a sixtieth of a second. */
const MAX_FPS = 60;
/** Moves the cursor home and erases the screen. Synchronized output (mode 2026) hides this until the next frame is complete. */
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
    // Deferred, since React must finish its own work before its tree is removed.
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
      // Most notifications change nothing on the screen, but Ink would process the whole frame to find that out.
      if (!isResized && !isScreenReader && lines === frame.lines) return;
      frame = { ...next, lines };
      if (isResized) redraw();
      else for (const listener of listeners) listener();
    } catch (error) {
      crash(error);
    }
  }

  const giveConsoleBack = captureConsole((text) => options.onPrinted?.(text));
  const pacing = createPacing({ gate, draw, onFailed: crash });
  const unsubscribe = store.subscribe((isAutomatic = false) => pacing.requestFrame(isAutomatic));

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
    setTheme(next) {
      theme = next;
      redraw();
    },
  };
}

type Shown = Frame & { readonly readerTree: ReaderTree };

function take(store: ScreenStore, isScreenReader: boolean): Shown {
  return {
    lines: isScreenReader ? [] : store.getLines(),
    readerTree: isScreenReader ? store.getReaderTree() : [],
    columns: store.size.columns,
  };
}
