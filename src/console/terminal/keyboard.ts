/**
 * Keyboard of a terminal in raw mode. The console does not read through Ink, which joins characters that were typed ahead and
 * treats pasted text as keys (operator console reference, A3).
 */

import type { KeyEvent, MouseReport } from "../model/key-event.ts";
import { createDecoder } from "./decode-keys.ts";

/** Part of `process.stdin` that is used. `setRawMode` and the rest are those of `tty.ReadStream`. */
export interface KeyboardInput {
  setRawMode(isRaw: boolean): unknown;
  on(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  off(event: "end", listener: () => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

export interface Keyboard {
  /** Turns raw mode off and stops reading; can be repeated. */
  close(): void;
}

interface KeyboardOptions {
  readonly stdin: KeyboardInput;
  onEvent(event: KeyEvent): void;
  /** Called when the terminal answers the status query. */
  onAnswer?(): void;
  /** Called with the reply to an operating system command (OSC). */
  onReply?(text: string): void;
  /** Called before the keys that arrived with it. */
  onMouse?(report: MouseReport): void;
  /** Called once when the terminal was closed or its connection lost. */
  onGone(): void;
}

/**
 * Time, in milliseconds, within which the bytes of one key arrive except on a slow line; a person does not press two keys
 * within it.
 */
export const ESCAPE_MS = 30;

export function openKeyboard({ stdin, onEvent, onAnswer, onReply, onMouse, onGone }: KeyboardOptions): Keyboard {
  const decoder = createDecoder(onAnswer, onReply, onMouse);
  let timer: NodeJS.Timeout | undefined;
  let isOpen = true;

  function report(events: readonly KeyEvent[]): void {
    // A handler may close the keyboard; the remaining keys are then dropped.
    for (const event of events) if (isOpen) onEvent(event);
  }

  function onData(bytes: Uint8Array): void {
    clearTimeout(timer);
    report(decoder.feed(bytes));
    if (isOpen && decoder.isPending) timer = setTimeout(() => report(decoder.flush()), ESCAPE_MS);
  }

  function lost(): void {
    if (!isOpen) return;
    close();
    onGone();
  }

  function close(): void {
    if (!isOpen) return;
    isOpen = false;
    clearTimeout(timer);
    stdin.off("data", onData);
    stdin.off("end", lost);
    // On a closed terminal this emits an error, which is ignored: its listener is still in place.
    stdin.setRawMode(false);
    stdin.pause();
    stdin.off("error", lost);
  }

  stdin.on("data", onData);
  stdin.on("end", lost);
  stdin.on("error", lost);
  stdin.setRawMode(true);
  stdin.resume();
  return { close };
}
