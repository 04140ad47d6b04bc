/** A test terminal: its input is counted, kept, and shown by a real emulator. */

import xterm from "@xterm/headless";

export interface TestTerminal {
  readonly written: string[];
  write(text: string): boolean;
  resize(columns: number, rows: number): void;
  /** Returns the text of each row once everything written is shown. */
  screen(): Promise<readonly string[]>;
  /** Forgets the written bytes, not the screen. */
  forget(): void;
}

export function createTerminal(columns: number, rows: number): TestTerminal {
  const emulator = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 100 });
  const written: string[] = [];
  emulator.write("\x1b[?1049h\x1b[H");
  return {
    written,
    write(text) {
      written.push(text);
      // The line discipline of a terminal does this.
      emulator.write(text.replaceAll("\n", "\r\n"));
      return true;
    },
    resize: (newColumns, newRows) => emulator.resize(newColumns, newRows),
    async screen() {
      await new Promise<void>((resolve) => emulator.write("", resolve));
      const { active } = emulator.buffer;
      return Array.from(
        { length: emulator.rows },
        (_, at) => active.getLine(active.baseY + at)?.translateToString(true) ?? "",
      );
    },
    forget() {
      written.length = 0;
    },
  };
}
