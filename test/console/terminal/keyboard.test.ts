/** The keyboard: raw while it is open, an Esc key by its pause, and no events after it is closed. */

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { beforeEach, mock, test } from "node:test";
import type { KeyEvent } from "../../../src/console/model/key-event.ts";
import { ESCAPE_MS, openKeyboard } from "../../../src/console/terminal/keyboard.ts";

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
});

/** A terminal input that records its calls. */
function standIn() {
  const calls: string[] = [];
  const stdin = Object.assign(new EventEmitter(), {
    setRawMode: (isRaw: boolean) => calls.push(`raw ${isRaw}`),
    resume: () => calls.push("resume"),
    pause: () => calls.push("pause"),
  });
  return { stdin, calls, send: (text: string) => stdin.emit("data", Buffer.from(text)) };
}

function open() {
  const { stdin, calls, send } = standIn();
  const seen: string[] = [];
  let gone = 0;
  const onEvent = (event: KeyEvent): void => {
    seen.push(event.kind === "key" ? event.chord : event.text);
    if (seen.at(-1) === "q") keyboard.close();
  };
  const keyboard = openKeyboard({
    stdin,
    onEvent,
    onGone: () => {
      gone += 1;
    },
  });
  return { keyboard, stdin, calls, send, seen, gone: () => gone };
}

test("the terminal is raw while the keyboard is open, and closing may be repeated", () => {
  const { keyboard, calls, stdin } = open();
  assert.deepEqual(calls, ["raw true", "resume"]);
  keyboard.close();
  keyboard.close();
  assert.deepEqual(calls, ["raw true", "resume", "raw false", "pause"]);
  assert.deepEqual(stdin.eventNames(), []);
});

test("a lone Esc is a key after a pause, and otherwise begins a sequence", () => {
  const { send, seen } = open();
  send("\u001b");
  mock.timers.tick(ESCAPE_MS - 1);
  assert.deepEqual(seen, []);
  mock.timers.tick(1);
  assert.deepEqual(seen, ["esc"]);
  send("\u001b");
  mock.timers.tick(ESCAPE_MS - 1);
  send("[");
  mock.timers.tick(ESCAPE_MS - 1);
  send("A");
  assert.deepEqual(seen, ["esc", "up"]);
});

test("keys after the keyboard was closed are ignored, also a pending Esc", () => {
  const { send, seen } = open();
  send("aqb");
  mock.timers.tick(ESCAPE_MS);
  assert.deepEqual(seen, ["a", "q"]);
  const other = open();
  other.send("\u001b");
  other.keyboard.close();
  mock.timers.tick(ESCAPE_MS);
  assert.deepEqual(other.seen, []);
});

test("the end or failure of the input is reported once", () => {
  const ended = open();
  ended.stdin.emit("end");
  assert.equal(ended.gone(), 1);
  const failed = open();
  failed.stdin.emit("error", new Error("read EIO"));
  assert.equal(failed.gone(), 1);
  assert.deepEqual(failed.calls.slice(-2), ["raw false", "pause"]);
});
