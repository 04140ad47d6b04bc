/**
 * Output stream of Ink: passes its text on, but prevents its own effects on the terminal.
 *
 * It never reports a full screen or a resize, since Ink answers both with ESC[2J ESC[3J, which erases the operator's
 * scrollback. It can be muted, since an unmounted tree still shows the cursor at an unpredictable time. A frame of one line,
 * which may fill the screen, does not end with a line feed, which would scroll it out. A line is erased before it is written
 * and not after: at full width the cursor stays on the last cell, which xterm and the Linux console would erase.
 */

export interface InkOutput {
  readonly stream: NodeJS.WriteStream;
  /** Drops all further output. */
  mute(): void;
}

interface FrameSize {
  readonly columns: number;
  /** Number of lines of a frame. */
  readonly lines: number;
}

/**
 * Ink's move to the first line of a changed frame. It counts up from below the frame, in 6.8.0 by one line too few; since the
 * console owns the whole screen, the absolute position of the first line is used instead.
 */
const TO_TOP = /^\x1b\[\d*A/;
/** Line as Ink replaces it: move to its first cell, text, erase the rest. */
const LINE = /\x1b\[1G([^\n]*?)\x1b\[K/g;

/** Unchanged lines, each skipped by `CSI E`. */
const LINES_OVER = /(?:\x1b\[E){2,}/g;
const LAST_LINES_OVER = /(?:\x1b\[E)+$/;

/** Skips several lines with one move, and none after the last changed line: the next frame begins at the top. */
const shorter = (frame: string): string =>
  frame.replace(LAST_LINES_OVER, "").replace(LINES_OVER, (moves) => `\x1b[${moves.length / 3}E`);

export function inkOutput(write: (text: string) => void, sizeOf: () => FrameSize): InkOutput {
  let isMuted = false;
  const nothing = { value: () => stream };
  const stream: NodeJS.WriteStream = Object.create(null, {
    isTTY: { value: true },
    writable: { value: true },
    destroyed: { value: false },
    writableEnded: { value: false },
    writableLength: { value: 0 },
    columns: { get: () => sizeOf().columns },
    // One line more than a frame has: Ink clears the screen for frames that are as high as the screen.
    rows: { get: () => sizeOf().lines + 1 },
    on: nothing,
    off: nothing,
    write: {
      value: (text: string, onWritten?: () => void) => {
        const frame = sizeOf().lines === 1 ? text.replace(/\n$/, "") : text;
        if (!isMuted && text !== "") write(shorter(frame.replace(TO_TOP, "\x1b[H").replace(LINE, "\x1b[1G\x1b[K$1")));
        if (onWritten !== undefined) setImmediate(onWritten);
        return true;
      },
    },
  });
  return {
    stream,
    mute: () => {
      isMuted = true;
    },
  };
}

/** Ink receives no input: the console reads its keyboard itself. */
export const INK_INPUT: NodeJS.ReadStream = Object.create(null, { isTTY: { value: false } });
