/**
 * Recording of a session as an asciicast, version 2 (docs.asciinema.org, "asciicast v2"): a line of JSON for the terminal, then
 * one per frame with the changed lines. It records separate frames of a masked state, not the terminal's output. Every line is
 * written before the next frame, so that the file is complete whatever ends the process.
 */

import type { Line } from "../model/text.ts";
import { maskText } from "../store/mask-state.ts";
import { paint, type Theme } from "./theme.ts";

export interface Recorder {
  frame(lines: readonly Line[], size: { readonly columns: number; readonly rows: number }): void;
}

/** File of a recording. Several consoles may append to it, one after the other. */
export interface RecordFile {
  /** Time in milliseconds since 1970. */
  readonly beganAt: number;
  /** Current length in UTF-16 units. */
  readonly length: number;
  /** Writes synchronously; throws on failure. */
  append(text: string): void;
}

export interface RecorderOptions {
  readonly file: RecordFile;
  /** Returns the time in milliseconds since 1970. */
  now(): number;
  readonly theme: Theme;
  /** Called once with the reason why recording ended. */
  onEnd(text: string): void;
  /** Maximum length in UTF-16 units, by default about 32 MiB; an hour of an incident takes a few. */
  readonly maxLength?: number;
}

const MAX_LENGTH = 32 << 20;

export function createRecorder({ file, now, theme, onEnd, maxLength = MAX_LENGTH }: RecorderOptions): Recorder {
  let isOver = false;
  let before: readonly string[] = [];
  let size: string | undefined;

  function put(value: unknown): void {
    const text = `${JSON.stringify(value)}\n`;
    try {
      if (file.length + text.length > maxLength) throw new Error("the file has reached its maximum size");
      file.append(text);
    } catch (error) {
      isOver = true;
      onEnd(`recording stopped: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  return {
    frame(lines, { columns, rows }) {
      if (isOver) return;
      const at = Math.round(now() - file.beganAt) / 1_000;
      const dimensions = `${columns}x${rows}`;
      if (file.length === 0) {
        put({
          version: 2,
          width: columns,
          height: rows,
          timestamp: Math.floor(file.beganAt / 1_000),
          title: "gateway console",
        });
      } else if (size !== dimensions) put([at, "r", dimensions]);
      const isAnew = size !== dimensions;
      size = dimensions;
      const painted = lines.map((line) =>
        paint(
          line.map((span) => ({ ...span, text: maskText(span.text) })),
          theme,
        ),
      );
      const changed = painted.flatMap((text, row) =>
        !isAnew && text === before[row] ? [] : [`\u001b[${row + 1};1H\u001b[0m\u001b[2K${text}`],
      );
      before = painted;
      if (changed.length > 0 && !isOver)
        put([at, "o", (isAnew ? "\u001b[?25l\u001b[?7l\u001b[2J" : "") + changed.join("")]);
    },
  };
}
