/**
 * Terminal while the console has it: alternate screen, hidden cursor, bracketed paste, raw keyboard; and its restoration
 * wherever the process ends, which is synchronous and can be repeated.
 *
 * Lines do not wrap: if a terminal uses more cells for a character than counted, the line is cut and the screen stays intact.
 * Sequences: XTerm Control Sequences, "Private Modes" 7, 25, 1049, 2004; 2026 is synchronized output, which Ink turns on for a
 * frame and which an incomplete frame would leave on.
 */

import type { KeyEvent, MouseReport } from "../model/key-event.ts";
import { ASK_BACKGROUND, isLightIn } from "./background-color.ts";
import { type Keyboard, type KeyboardInput, openKeyboard } from "./keyboard.ts";
import { MOUSE_OFF, MOUSE_ON } from "./mouse-reports.ts";
import { type Output, openOutput, type Size, type TerminalOutput } from "./terminal-output.ts";

const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?2004h\u001b[?7l\u001b[H\u001b[2J";
const LEAVE = "\u001b[?2026l\u001b[?2004l\u001b[?7h\u001b[0m\u001b[?25h\u001b[?1049l";

/** Clears the screen without the sequence that makes some terminals save a copy of it. */
export const CLEAN = "\u001b[H\u001b[J";

/**
 * Maximum wait for an answer after a hangup, in milliseconds: a usable terminal answers sooner unless its line is slow, and a
 * closed one is detected by then.
 */
const HANG_UP_MS = 100;

export type ScreenEvent =
  | KeyEvent
  /** The contents may be displaced: write `CLEAN` and repaint everything in a new instance of Ink. */
  | ({ readonly kind: "size" } & Size)
  /** The same at an unchanged size: after the process continued, or when the window briefly had another size. */
  | { readonly kind: "repaint" };

interface ScreenOptions {
  readonly stdin: KeyboardInput;
  readonly stdout: TerminalOutput;
  /** True if the terminal does not support escape sequences: none is written, and no query is sent. */
  readonly isPlain?: boolean;
  onEvent(event: ScreenEvent): void;
  /**
   * Called once when the terminal was closed, or on SIGHUP. The process then ends by SIGHUP: if it exited itself, Node would
   * fail to restore the terminal's mode and abort with a core dump.
   */
  onGone(): void;
  /** Called at most once, if the terminal answers. The background color is requested only if this is set. */
  onBackground?(isLight: boolean): void;
  /** Called with each mouse report. Reports are requested only if this is set. */
  onMouse?(report: MouseReport): void;
  /** Stops this process until it is continued (SIGSTOP). The caller provides it, since it owns the process. */
  stopProcess(): void;
}

export interface Screen {
  readonly output: Output;
  /** Returns the size, at least one cell. */
  size(): Size;
  /** Restores the terminal permanently and immediately: the shell then reads a pending answer. */
  leave(): void;
  /** Restores the terminal once no answer is pending; input is dropped until then. */
  leaveWhenAnswered(): Promise<void>;
  /** Restores the terminal and stops the process; `resume` must be called after it continues. */
  suspend(): void;
  /** Restores the terminal while `work` runs, then takes it again and requests a repaint. */
  runWithoutTerminal<T>(work: () => Promise<T>): Promise<T>;
  /** Takes the terminal again after the process was stopped, by itself or externally, and requests a repaint. */
  resume(): void;
  /** Reports that the window has, or briefly had, another size (SIGWINCH). */
  windowChanged(): void;
  /** Reports a hangup (SIGHUP): waits at most `HANG_UP_MS` for a pending answer. */
  hangUp(): void;
}

export function openScreen({
  stdin,
  stdout,
  isPlain = false,
  onEvent,
  onGone,
  onBackground,
  onMouse,
  stopProcess,
}: ScreenOptions): Screen {
  const output = openOutput(stdout);
  let keyboard: Keyboard | undefined;
  let state: "on" | "leaving" | "suspending" | "suspended" | "lent" | "left" = "on";
  let isGone = false;
  let wasBackgroundReported = false;
  let lastSize = output.size();

  function onTerminalGone(): void {
    if (isGone) return;
    isGone = true;
    leave();
    onGone();
  }

  function takeTerminal(): void {
    output.unmute();
    if (!isPlain) output.writeNow(onMouse === undefined ? ENTER : ENTER + MOUSE_ON);
    keyboard = openKeyboard({
      stdin,
      onEvent: (event) => (state === "on" ? onEvent(event) : undefined),
      onAnswer: () => output.answered(),
      onMouse: (report) => (state === "on" ? onMouse?.(report) : undefined),
      onReply(text) {
        const isLight = isLightIn(text);
        if (isLight === undefined || wasBackgroundReported || state !== "on") return;
        wasBackgroundReported = true;
        onBackground?.(isLight);
      },
      onGone: onTerminalGone,
    });
    // Sent before the status query, so that its answer, if there is one, arrives before that of the status query.
    if (isPlain) return;
    if (onBackground !== undefined && !wasBackgroundReported) output.writeNow(ASK_BACKGROUND);
    output.startQueries();
  }

  function restoreTerminal(): void {
    keyboard?.close();
    keyboard = undefined;
    output.mute();
    if (!isPlain) output.writeNow(onMouse === undefined ? LEAVE : MOUSE_OFF + LEAVE);
  }

  function leave(): void {
    if (state === "left") return;
    const hasTerminal = state !== "suspended" && state !== "lent";
    state = "left";
    stopListening();
    output.stream.off("resize", onResize);
    if (hasTerminal) restoreTerminal();
    output.close();
  }

  function onResize(): void {
    if (state !== "on") return;
    const before = lastSize;
    lastSize = output.size();
    const isSame = lastSize.columns === before.columns && lastSize.rows === before.rows;
    onEvent(isSame ? { kind: "repaint" } : { kind: "size", ...lastSize });
  }

  const stopListening = output.onGone(onTerminalGone);
  output.stream.on("resize", onResize);
  takeTerminal();

  async function leaveWhenAnswered(): Promise<void> {
    if (state === "on") {
      state = "leaving";
      output.mute();
      await output.whenNoAnswerPending();
    }
    leave();
  }

  function retakeTerminal(): void {
    // Another program may have changed the terminal's mode, which Node does not notice.
    keyboard?.close();
    state = "on";
    takeTerminal();
    lastSize = output.size();
    onEvent({ kind: "size", ...lastSize });
    onEvent({ kind: "repaint" });
  }

  return {
    output,
    size: () => output.size(),
    leave,
    leaveWhenAnswered,
    suspend() {
      // The program that has the terminal is stopped and continued together with this process.
      if (state === "lent") return stopProcess();
      if (state !== "on") return;
      state = "suspending";
      output.mute();
      void output.whenNoAnswerPending().then(() => {
        if (state !== "suspending") return;
        state = "suspended";
        restoreTerminal();
        stopProcess();
      });
    },
    async runWithoutTerminal(work) {
      if (state !== "on") throw new Error("the terminal is in use: try again");
      state = "suspending";
      output.mute();
      await output.whenNoAnswerPending();
      if (state !== "suspending") throw new Error("the terminal was closed");
      state = "lent";
      restoreTerminal();
      try {
        return await work();
      } finally {
        if (state === "lent") retakeTerminal();
      }
    },
    resume() {
      if (state !== "left" && state !== "leaving" && state !== "lent") retakeTerminal();
    },
    windowChanged: () => output.windowChanged(),
    hangUp() {
      setTimeout(onTerminalGone, HANG_UP_MS);
      // If the screen is already being left, the timer alone decides when `onTerminalGone` is called.
      if (state === "on") void leaveWhenAnswered().then(onTerminalGone);
    },
  };
}
