/**
 * A session as an asciicast, version 2 (docs.asciinema.org, "asciicast v2"): a line of JSON for the terminal, then one for
 * each frame with the lines that changed. What is recorded are frames that were drawn for it of a masked state, and not
 * what the terminal was sent. Every line is in the file before the next frame, so whatever ends the process leaves all of it.
 */

import type { Line } from "../model/text.ts";
import { maskText } from "../store/masked.ts";
import { paint, type Theme } from "./theme.ts";

export interface Recorder {
  frame(lines: readonly Line[], size: { readonly columns: number; readonly rows: number }): void;
}

/** The file, which several consoles may go on with, one after the other. */
export interface RecordFile {
  /** Milliseconds since 1970. */
  readonly beganAt: number;
  /** UTF-16 units so far. */
  readonly length: number;
  /** It is in the file when this returns; throws where it cannot be. */
  append(text: string): void;
}

export interface RecorderOptions {
  readonly file: RecordFile;
  /** Milliseconds since 1970. */
  now(): number;
  readonly theme: Theme;
  /** Why nothing more is recorded; told once. */
  onEnd(words: string): void;
  /** UTF-16 units, some 32 MiB: an hour of an incident is a few. */
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
      if (file.length + text.length > maxLength) throw new Error("the recording has reached its bound");
      file.append(text);
    } catch (error) {
      isOver = true;
      onEnd(`nothing more is recorded: ${error instanceof Error ? error.message : String(error)}`);
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
