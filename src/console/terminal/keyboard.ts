/**
 * The keyboard of a terminal, read raw. The console does not read through Ink, which joins characters typed ahead into
 * one and takes the text of a paste for keys (operator console reference, A3).
 */

import type { KeyEvent, MouseReport } from "../model/key.ts";
import { createDecoder } from "./decode.ts";

/** What is used of `process.stdin`; `setRawMode` and the rest as `tty.ReadStream` has them. */
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
  /** Raw mode off and nothing read any more; may be repeated. */
  close(): void;
}

export interface KeyboardOptions {
  readonly stdin: KeyboardInput;
  onEvent(event: KeyEvent): void;
  /** The terminal has come to the question of its state. */
  onAnswer?(): void;
  /** What it answers to a command of the operating system (OSC). */
  onReply?(text: string): void;
  /** Told before the keys that came with it. */
  onMouse?(report: MouseReport): void;
  /** The terminal was closed or its line cut; called once. */
  onGone(): void;
}

/** The bytes of one key arrive together but for a slow line; a person does not press two keys within it. */
export const ESCAPE_MS = 30;

export function openKeyboard({ stdin, onEvent, onAnswer, onReply, onMouse, onGone }: KeyboardOptions): Keyboard {
  const decoder = createDecoder(onAnswer, onReply, onMouse);
  let timer: NodeJS.Timeout | undefined;
  let isOpen = true;

  function report(events: readonly KeyEvent[]): void {
    // What an event leads to may close the keyboard; the keys behind it are then not for us.
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
    // While `error` is listened to: on a terminal that is gone this fails, which no longer matters.
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
