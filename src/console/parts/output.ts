/**
 * The stream that Ink writes to: what it writes goes on, what it would do to the terminal by itself does not.
 *
 * It never says that the screen is full or was resized, since Ink answers both with ESC[2J ESC[3J, which wipes what the
 * operator had above; and it can be muted, since an unmounted tree still shows the cursor, at a time of its own choosing.
 * A frame of one line, which may be all that the screen has, is not ended by a line feed: it would scroll out.
 * A line is erased before it is written and not after: where it fills the width the cursor stays on its last cell, and
 * xterm and the Linux console would take that cell away.
 */

export interface InkOutput {
  readonly stream: NodeJS.WriteStream;
  /** For good. */
  mute(): void;
}

export interface FrameSize {
  readonly columns: number;
  /** Lines of a frame. */
  readonly lines: number;
}

/**
 * How Ink goes to the first line of a frame that it changes. It counts up from below the frame, in 6.8.0 by one line too
 * few; the screen being all ours, its first line is a place that needs no counting.
 */
const TO_TOP = /^\x1b\[\d*A/;
/** A line as Ink replaces it: to its first cell, the text, the rest erased. */
const LINE = /\x1b\[1G([^\n]*?)\x1b\[K/g;

/** Lines that did not change, each gone over by itself: `CSI E`. */
const LINES_OVER = /(?:\x1b\[E){2,}/g;
const LAST_LINES_OVER = /(?:\x1b\[E)+$/;

/** With one move over all of them, and none behind the last line that changed: the next frame begins at the top. */
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
    // One more than a frame has: a frame of as many lines as the screen makes Ink clear it each time.
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

/** Ink takes no input here: the console reads its keyboard itself. */
export const INK_INPUT: NodeJS.ReadStream = Object.create(null, { isTTY: { value: false } });
