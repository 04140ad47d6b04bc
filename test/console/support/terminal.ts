/**
 * A program in a terminal, as its user has it: a real pseudo-terminal whose output a headless xterm draws. Keys are
 * sent as bytes; conditions are checked at each output, without sleeping.
 *
 * The program ends with its owner, killed if necessary. Its environment has PATH, a UTF-8 locale, a terminal with
 * colors, and what the test gives it; nothing else of the test's own.
 */

import { closeSync, constants as modes, openSync } from "node:fs";
import { constants } from "node:os";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import xterm from "@xterm/headless";
import type { Chord } from "../../../src/console/model/key-event.ts";
import { atEnd, type Owner, within } from "../../e2e/support/wait.ts";
import { countStart } from "../../support/count-start.ts";
import { type Cell, cellsOf, cellsOfRow, textOfCells } from "./cells.ts";
import { bytesOfChord } from "./chords.ts";
import { ptySkip, spawnInPty } from "./pty.ts";
import { createRawBytes, type RawBytes } from "./raw-bytes.ts";

export { ptySkip };

/** A console starts in a second; a loaded machine gets more time. */
const LIMIT_MS = 45_000;
const QUIET_MS = 80;
/** Pause after an Esc key, so that the program does not take the next key for one with Alt; it waits 30 ms itself. */
const AFTER_ESCAPE_MS = 250;
/** Interval at which a throttled terminal takes its due bytes. */
const SLICE_MS = 20;

const OTHER_END = modes.O_RDWR | modes.O_NOCTTY;

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const running = new Set<() => void>();
process.once("exit", () => {
  for (const kill of running) kill();
});

export interface TerminalOptions {
  /** Node by default. */
  readonly command?: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The root of the repository by default. */
  readonly cwd?: string;
  /** 80 by 24 by default. */
  readonly columns?: number;
  readonly rows?: number;
  /**
   * Bits per second of a serial line, ten per byte: the speed at which the terminal takes output. Unlimited by default.
   */
  readonly baud?: number;
  /** `true` answers no query, like a program that only pretends to be a terminal. */
  readonly isMute?: boolean;
}

interface TerminalEnd {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface TestTerminal {
  readonly pid: number;
  readonly columns: number;
  readonly rows: number;
  /** Rows joined by line feeds, without trailing blanks and trailing empty rows. */
  screen(): string;
  /** Row from 0, without trailing blanks. */
  row(row: number): string;
  cell(row: number, column: number): Cell;
  cells(): readonly (readonly Cell[])[];
  readonly isAlternate: boolean;
  readonly cursorVisible: boolean;
  /** Everything the program has written. */
  readonly bytes: RawBytes;
  /** Whether all of it is on the screen. */
  readonly isDrawn: boolean;
  /** Bytes sent to the program, by keys and by the terminal itself. */
  readonly typed: number;
  /** Sends text as if typed, and a byte sequence unchanged. */
  type(text: string): void;
  /** Sends keys one after the other; after `esc` it waits until no following key can be taken for one with Alt. */
  press(...chords: readonly Chord[]): Promise<void>;
  /** Sends text like a terminal whose user pastes. */
  paste(text: string): void;
  resize(columns: number, rows: number): void;
  /** Resolves once the screen contains the text, matches, or satisfies the predicate; else rejects with the screen. */
  until(expected: string | RegExp | ((screen: string) => boolean), what?: string): Promise<void>;
  /** Resolves once nothing was written for 80 ms. */
  settled(): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** Closes the terminal like a closed window or a cut line: the program gets SIGHUP and can write no more. */
  hangUp(): void;
  /** Resolves when the program has ended and all of its output is drawn. */
  readonly ended: Promise<TerminalEnd>;
}

export function openTerminal(owner: Owner, options: TerminalOptions): TestTerminal {
  const {
    command = process.execPath,
    args,
    env = {},
    cwd = root,
    columns = 80,
    rows = 24,
    baud,
    isMute = false,
  } = options;
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 1_000 });
  // Widths as terminals have used for years; the emulator's own are those of Unicode 6, with few emoji.
  terminal.loadAddon(new Unicode11Addon());
  terminal.unicode.activeVersion = "11";
  const bytes = createRawBytes();
  const listeners = new Set<() => void>();
  // The emulator loses some characters of three bytes, such as the ellipsis, that are cut between the second and the
  // third.
  const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  let writtenAt = performance.now();
  let undrawn = 0;
  let isCursorVisible = true;
  let isHungUp = false;
  let end: TerminalEnd | undefined;
  let typed = 0;

  // The emulator does not expose it; a mode may be set among others.
  for (const [final, isVisible] of [
    ["h", true],
    ["l", false],
  ] as const) {
    terminal.parser.registerCsiHandler({ prefix: "?", final }, (modes) => {
      if (modes.flat().includes(25)) isCursorVisible = isVisible;
      return false;
    });
  }

  if (args.some((arg) => arg.endsWith("bin/gateway"))) countStart();
  const pty = spawnInPty(command, [...args], {
    cols: columns,
    rows,
    cwd,
    // Bytes, since a text decoder would hold back and hide invalid UTF-8.
    encoding: null,
    env: { PATH: process.env["PATH"] ?? "", TERM: "xterm-256color", LANG: "C.UTF-8", ...env },
  });
  // While a paused pseudo-terminal has no other end, Node takes its next bytes for the last ones, so this is another
  // end.
  const otherEnd = baud !== undefined && "ptsName" in pty ? openSync(String(pty.ptsName), OTHER_END) : undefined;
  const send = (text: string): void => {
    typed += Buffer.byteLength(text);
    pty.write(text);
  };
  // The emulator's answers to queries (`CSI 6 n` and the like).
  terminal.onData((reply) => {
    if (end === undefined && !isMute && !isHungUp) send(reply);
  });

  function look(): void {
    for (const listener of [...listeners]) listener();
  }

  function draw(chunk: Uint8Array): void {
    bytes.add(chunk);
    writtenAt = performance.now();
    undrawn += 1;
    terminal.write(utf8.decode(chunk, { stream: true }), () => {
      undrawn -= 1;
      look();
    });
  }

  const isRunning = (): boolean => {
    try {
      process.kill(pty.pid, 0);
      return true;
    } catch {
      return false;
    }
  };

  /** Processes input in slices, and reads no more from the program until they are drawn. */
  function drawSlowly(chunk: Uint8Array, bytesPerSlice: number): void {
    pty.pause();
    let left = chunk;
    const slice = (): void => {
      // Remaining output of an ended program is taken at once, since the terminal is closed on its side.
      const count = isRunning() ? bytesPerSlice : left.length;
      draw(left.subarray(0, count));
      left = left.subarray(count);
      if (left.length > 0) setTimeout(slice, SLICE_MS);
      else setTimeout(() => pty.resume(), isRunning() ? SLICE_MS : 0);
    };
    slice();
  }

  pty.onData((data) => {
    const chunk = Buffer.from(data);
    if (baud === undefined) draw(chunk);
    else drawSlowly(chunk, Math.max(1, Math.round(((baud / 10) * SLICE_MS) / 1_000)));
  });

  const kill = (name: NodeJS.Signals = "SIGKILL"): void => {
    try {
      process.kill(pty.pid, name);
    } catch {
      // It has ended in the meantime.
    }
  };
  const killHard = (): void => kill();
  running.add(killHard);

  const ended = new Promise<TerminalEnd>((done) => {
    pty.onExit(({ exitCode, signal = 0 }) => {
      running.delete(killHard);
      if (otherEnd !== undefined) closeSync(otherEnd);
      end = signal === 0 ? { status: exitCode, signal: null } : { status: null, signal: nameOfSignal(signal) };
      // The empty text is drawn after everything received.
      terminal.write("", () => {
        look();
        if (end !== undefined) done(end);
      });
    });
  });

  atEnd(owner, async () => {
    if (end === undefined) kill();
    await within("the end of the program in the terminal", ended, LIMIT_MS);
    terminal.dispose();
  });

  const row = (at: number): string => textOfCells(cellsOfRow(terminal, at));
  const screen = (): string => cellsOf(terminal).map(textOfCells).join("\n").trimEnd();

  return {
    pid: pty.pid,
    get columns() {
      return terminal.cols;
    },
    get rows() {
      return terminal.rows;
    },
    screen,
    row,
    cell(at, column) {
      const cell = cellsOfRow(terminal, at)[column];
      if (cell === undefined) throw new RangeError(`no column ${column} of ${terminal.cols}`);
      return cell;
    },
    cells: () => cellsOf(terminal),
    get isAlternate() {
      return terminal.buffer.active.type === "alternate";
    },
    get cursorVisible() {
      return isCursorVisible;
    },
    bytes,
    get isDrawn() {
      return undrawn === 0;
    },
    get typed() {
      return typed;
    },
    type: send,
    async press(...chords) {
      for (const chord of chords) {
        send(bytesOfChord(chord));
        if (chord === "esc") await new Promise((done) => setTimeout(done, AFTER_ESCAPE_MS));
      }
    },
    paste: (text) => send(`\u001b[200~${text}\u001b[201~`),
    resize(toColumns, toRows) {
      terminal.resize(toColumns, toRows);
      pty.resize(toColumns, toRows);
    },
    until(expected, what) {
      const isSo =
        typeof expected === "function"
          ? expected
          : (text: string) => (typeof expected === "string" ? text.includes(expected) : expected.test(text));
      const name = what ?? (typeof expected === "function" ? "what was awaited" : String(expected));
      return new Promise((done, failed) => {
        const finish = (settle: () => void): void => {
          clearTimeout(timer);
          listeners.delete(check);
          settle();
        };
        const check = (): void => {
          if (isSo(screen())) finish(done);
          else if (end !== undefined)
            finish(() => failed(new Error(`${name}: the program has ended\n${framed(screen())}`)));
        };
        const late = (): void => failed(new Error(`${name} did not come within ${LIMIT_MS} ms\n${framed(screen())}`));
        const timer = setTimeout(() => finish(late), LIMIT_MS);
        listeners.add(check);
        check();
      });
    },
    async settled() {
      const from = performance.now();
      writtenAt = Math.max(writtenAt, from);
      for (;;) {
        const left = writtenAt + QUIET_MS - performance.now();
        if (left <= 0 && undrawn === 0) return;
        if (performance.now() - from > LIMIT_MS) throw new Error(`the screen does not settle\n${framed(screen())}`);
        await new Promise((done) => setTimeout(done, Math.max(1, left)));
      }
    },
    signal: (name) => kill(name),
    hangUp() {
      isHungUp = true;
      if ("destroy" in pty && typeof pty.destroy === "function") pty.destroy();
    },
    ended,
  };
}

function nameOfSignal(number: number): NodeJS.Signals | null {
  const [name] = Object.entries(constants.signals).find(([, value]) => value === number) ?? [];
  return (name as NodeJS.Signals | undefined) ?? null;
}

const framed = (screen: string): string => `+---- the screen ----\n${screen.replace(/^/gm, "| ")}\n+----`;
