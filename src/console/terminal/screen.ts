/**
 * The terminal while the console has it: alternate screen, no cursor, bracketed paste, raw keyboard; and the way back,
 * which must be found from wherever the process ends. What leads back is synchronous and may be repeated.
 *
 * Lines do not wrap: where a terminal gives a character more cells than we count, the line is cut and not the screen torn.
 * Sequences: XTerm Control Sequences, "Private Modes" 7, 25, 1049, 2004; 2026 is synchronized output, which Ink turns on
 * for a frame and which a frame that is cut would leave on.
 */

import type { KeyEvent, MouseReport } from "../model/key.ts";
import { ASK_BACKGROUND, isLightIn } from "./background.ts";
import { type Keyboard, type KeyboardInput, openKeyboard } from "./keyboard.ts";
import { MOUSE_OFF, MOUSE_ON } from "./mouse.ts";
import { type Output, openOutput, type Size, type TerminalOutput } from "./output.ts";

const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?2004h\u001b[?7l\u001b[H\u001b[2J";
const LEAVE = "\u001b[?2026l\u001b[?2004l\u001b[?7h\u001b[0m\u001b[?25h\u001b[?1049l";

/** Empties the screen without the sequence that some terminals keep a copy of the screen for. */
export const CLEAN = "\u001b[H\u001b[J";

/** A terminal that stays answers sooner, unless its line is slow; one that is gone is known to be by then. */
const HANG_UP_MS = 100;

export type ScreenEvent =
  | KeyEvent
  /** What was painted may be anywhere: write `CLEAN` and paint all of it anew, in a new instance of Ink. */
  | ({ readonly kind: "size" } & Size)
  /** The same with the size as before: after the process went on, or when the window had another size for a moment. */
  | { readonly kind: "repaint" };

export interface ScreenOptions {
  readonly stdin: KeyboardInput;
  readonly stdout: TerminalOutput;
  /** The terminal knows no escape sequences: none is written, and it is asked nothing. */
  readonly isPlain?: boolean;
  onEvent(event: ScreenEvent): void;
  /**
   * The terminal was closed, or SIGHUP says so. Called once. The process then ends by SIGHUP: where it ended by itself,
   * Node would put the mode of the terminal back, fail at it and abort with a core.
   */
  onGone(): void;
  /** Asks for the colour of the background; told once at most, where the terminal answers. */
  onBackground?(isLight: boolean): void;
  /** Wants reports of the mouse. */
  onMouse?(report: MouseReport): void;
  /** Stops this process until it is continued (SIGSTOP); the process is the caller's, so the caller does it. */
  stopProcess(): void;
}

export interface Screen {
  readonly output: Output;
  /** At least one cell. */
  size(): Size;
  /** Gives the terminal back for good, and at once: an answer of it that is under way is then for the shell to read. */
  leave(): void;
  /** The same once no such answer is under way; what is typed until then is dropped. */
  leaveInOrder(): Promise<void>;
  /** Gives the terminal back in order and stops the process; whoever continues it calls `resume`. */
  suspend(): void;
  /** Gives the terminal back in order while `work` lasts, then takes it and asks for a repaint. */
  lend<T>(work: () => Promise<T>): Promise<T>;
  /** After the process was stopped, by itself or from outside: takes the terminal anew and asks for a repaint. */
  resume(): void;
  /** The window has another size, or had one for a moment (SIGWINCH). */
  windowChanged(): void;
  /** The terminal hung up, or SIGHUP says so: an answer that is under way is awaited no longer than `HANG_UP_MS`. */
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
  let wasTold = false;
  let told = output.size();

  function gone(): void {
    if (isGone) return;
    isGone = true;
    leave();
    onGone();
  }

  function take(): void {
    output.release();
    if (!isPlain) output.writeNow(onMouse === undefined ? ENTER : ENTER + MOUSE_ON);
    keyboard = openKeyboard({
      stdin,
      onEvent: (event) => (state === "on" ? onEvent(event) : undefined),
      onAnswer: () => output.answered(),
      onMouse: (report) => (state === "on" ? onMouse?.(report) : undefined),
      onReply(text) {
        const isLight = isLightIn(text);
        if (isLight === undefined || wasTold || state !== "on") return;
        wasTold = true;
        onBackground?.(isLight);
      },
      onGone: gone,
    });
    // In front of the question of its state: who has answered that has said all that it says to this.
    if (isPlain) return;
    if (onBackground !== undefined && !wasTold) output.writeNow(ASK_BACKGROUND);
    output.beginAsking();
  }

  function giveBack(): void {
    keyboard?.close();
    keyboard = undefined;
    output.hold();
    if (!isPlain) output.writeNow(onMouse === undefined ? LEAVE : MOUSE_OFF + LEAVE);
  }

  function leave(): void {
    if (state === "left") return;
    const hasTerminal = state !== "suspended" && state !== "lent";
    state = "left";
    stopListening();
    output.stream.off("resize", onResize);
    if (hasTerminal) giveBack();
    output.close();
  }

  function onResize(): void {
    if (state !== "on") return;
    const before = told;
    told = output.size();
    const isSame = told.columns === before.columns && told.rows === before.rows;
    onEvent(isSame ? { kind: "repaint" } : { kind: "size", ...told });
  }

  const stopListening = output.onGone(gone);
  output.stream.on("resize", onResize);
  take();

  async function leaveInOrder(): Promise<void> {
    if (state === "on") {
      state = "leaving";
      output.hold();
      await output.whenNothingOwed();
    }
    leave();
  }

  function takeBack(): void {
    // Whoever had the terminal in between may have changed its mode, which Node would not notice.
    keyboard?.close();
    state = "on";
    take();
    told = output.size();
    onEvent({ kind: "size", ...told });
    onEvent({ kind: "repaint" });
  }

  return {
    output,
    size: () => output.size(),
    leave,
    leaveInOrder,
    suspend() {
      // The program that has the terminal is stopped with this process, and goes on with it.
      if (state === "lent") return stopProcess();
      if (state !== "on") return;
      state = "suspending";
      output.hold();
      void output.whenNothingOwed().then(() => {
        if (state !== "suspending") return;
        state = "suspended";
        giveBack();
        stopProcess();
      });
    },
    async lend(work) {
      if (state !== "on") throw new Error("the terminal is not free: try again");
      state = "suspending";
      output.hold();
      await output.whenNothingOwed();
      if (state !== "suspending") throw new Error("the terminal is gone");
      state = "lent";
      giveBack();
      try {
        return await work();
      } finally {
        if (state === "lent") takeBack();
      }
    },
    resume() {
      if (state !== "left" && state !== "leaving" && state !== "lent") takeBack();
    },
    windowChanged: () => output.windowChanged(),
    hangUp() {
      setTimeout(gone, HANG_UP_MS);
      // Of one that is leaving already the end is on its way.
      if (state === "on") void leaveInOrder().then(gone);
    },
  };
}
