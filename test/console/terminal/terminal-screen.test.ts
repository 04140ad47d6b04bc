// tier: all
/** The terminal parts in a real terminal: the screen meanwhile, and its restoration in every case. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { atEnd, eventually, type Owner, within } from "../../e2e/support/wait.ts";
import { childArgs } from "../../support/child-program.ts";
import { openTerminal, ptySkip, type TerminalOptions, type TestTerminal } from "../support/terminal.ts";

const options = { skip: ptySkip };
const board = childArgs("./fixtures/board.tsx", import.meta.url);

async function open(owner: Owner, more: Partial<TerminalOptions> = {}): Promise<TestTerminal> {
  const terminal = openTerminal(owner, { args: board, ...more });
  await terminal.until(/size \d+x\d+ tick/);
  return terminal;
}

/** Asserts that the terminal is as the shell left it. */
function assertRestored(terminal: TestTerminal): void {
  assert.equal(terminal.isAlternate, false);
  assert.equal(terminal.cursorVisible, true);
  assert.equal(terminal.row(0), "before the console");
  assert.doesNotMatch(terminal.screen(), /tick/);
  const text = terminal.bytes.text();
  assert.ok(text.lastIndexOf("\u001b[?2004l") > text.lastIndexOf("\u001b[?2004h"), "pastes are bracketed no more");
  assert.ok(text.lastIndexOf("\u001b[?7h") > text.lastIndexOf("\u001b[?7l"), "lines wrap again");
  assert.ok(text.lastIndexOf("\u001b[?2026l") > text.lastIndexOf("\u001b[?2026h"), "no frame is begun and held back");
}

test(
  "the alternate screen is entered and cleared once, and leaving restores the previous content",
  options,
  async (t) => {
    const terminal = await open(t);
    assert.equal(terminal.isAlternate, true);
    assert.equal(terminal.cursorVisible, false);
    await terminal.press("a", "q");
    assert.deepEqual(await terminal.ended, { status: 0, signal: null });
    assertRestored(terminal);
    assert.match(terminal.screen(), /after the console/);
    const { alternateEntries, alternateLeaves, clears, scrollbackClears } = terminal.bytes;
    assert.deepEqual(
      { alternateEntries, alternateLeaves, clears, scrollbackClears },
      { alternateEntries: 1, alternateLeaves: 1, clears: 1, scrollbackClears: 0 },
    );
  },
);

for (const [name, end] of [
  ["SIGTERM", { status: 0, signal: null }],
  ["SIGHUP", { status: null, signal: "SIGHUP" }],
] as const) {
  test(`${name} ends the console with the terminal restored`, options, async (t) => {
    const terminal = await open(t);
    terminal.signal(name);
    assert.deepEqual(await terminal.ended, end);
    assertRestored(terminal);
  });
}

for (const [key, printed, status] of [
  ["T", "thrown in the console", 1],
  ["P", "rejected in the console", 1],
] as const) {
  test(`${printed} is printed readably with status ${status}`, options, async (t) => {
    const terminal = await open(t);
    await terminal.press(key);
    assert.deepEqual(await terminal.ended, { status, signal: null });
    assertRestored(terminal);
    assert.match(terminal.screen(), new RegExp(printed));
  });
}

test("closing the terminal ends the console", options, async (t) => {
  const terminal = await open(t);
  terminal.hangUp();
  assert.deepEqual(await within("the end", terminal.ended), { status: null, signal: "SIGHUP" });
});

test("an unexpected exit restores the terminal and keeps its status", options, async (t) => {
  const terminal = await open(t);
  await terminal.press("E");
  assert.deepEqual(await terminal.ended, { status: 7, signal: null });
  assertRestored(terminal);
});

test("a suspended console returns the terminal and repaints when it resumes", options, async (t) => {
  for (const stop of ["with its key", "by SIGTSTP"]) {
    const terminal = await open(t);
    if (stop === "with its key") await terminal.press("ctrl-z");
    else terminal.signal("SIGTSTP");
    await terminal.until("before the console", stop);
    assertRestored(terminal);
    await eventually("the stop", () => stateOf(terminal.pid) === "T");
    terminal.signal("SIGCONT");
    await terminal.until(/size 80x24 tick[\s\S]*repaint/);
    assert.equal(terminal.isAlternate, true);
    assert.equal(terminal.cursorVisible, false);
    await terminal.press("k");
    await terminal.until(/\d k$/m);
    await terminal.press("q");
    assert.deepEqual(await terminal.ended, { status: 0, signal: null });
    assertRestored(terminal);
  }
});

/** Returns the letter of the process state on Linux; elsewhere it is not checked. */
function stateOf(pid: number): string {
  if (process.platform !== "linux") return "T";
  return readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /s, "")[0] ?? "";
}

test("a window that returns to its size is repainted, since its cut content is lost", options, async (t) => {
  const terminal = await open(t, { columns: 100, rows: 30 });
  terminal.resize(50, 12);
  terminal.resize(100, 30);
  await terminal.until(/\d+ {"kind":"repaint"}/);
  await terminal.until(/^size 100x30 tick \d+$/m);
  assert.doesNotMatch(terminal.screen(), /"kind":"size"/);
});

test("a resize is reported once it has settled, at any size", options, async (t) => {
  const terminal = await open(t);
  for (const columns of [90, 100, 110, 120]) terminal.resize(columns, 35);
  await terminal.until(/size 120x35[\s\S]*"columns":120,"rows":35/);
  assert.doesNotMatch(terminal.screen(), /"columns":90,/);
  terminal.resize(30, 5);
  await eventually("the small size", () => terminal.bytes.text().includes("size 30x5"));
  terminal.resize(100, 30);
  await terminal.until(/"columns":30,"rows":5}\s+\d+ {"kind":"size","columns":100,"rows":30}/);
  await terminal.settled();
  assert.match(terminal.row(0), /^size 100x30 tick \d+$/);
  assert.equal(terminal.bytes.clears, 1);
  assert.equal(terminal.bytes.scrollbackClears, 0);
});

test("a paste is text, and keys typed ahead are keys", options, async (t) => {
  const terminal = await open(t);
  terminal.paste("q\r\nq");
  terminal.type("ab");
  await terminal.press("esc", "shift-right", "f5");
  await terminal.until(/"kind":"paste","text":"q\\nq"[\s\S]*1 a[\s\S]*2 b[\s\S]*3 esc[\s\S]*4 shift-right[\s\S]*5 f5/);
});

test("a terminal that answers no query is asked once", options, async (t) => {
  const terminal = await open(t, { isMute: true });
  for (const key of ["a", "b", "c"]) await terminal.press(key);
  await terminal.until(/\d c$/m);
  await terminal.press("q");
  assert.deepEqual(await terminal.ended, { status: 0, signal: null });
  assertRestored(terminal);
  assert.equal(terminal.bytes.text().split("\u001b[5n").length - 1, 1);
});

test("keys between answers of the terminal are recognized", options, async (t) => {
  const terminal = await open(t, { env: { BOARD_ROWS: "10" } });
  for (let at = 0; at < 200; at += 1) {
    terminal.type(at % 2 === 0 ? "x" : "\u001b[A");
    await new Promise((done) => setImmediate(done));
  }
  await terminal.until(/198 x\s+199 up$/m);
  await terminal.press("q");
  assert.deepEqual(await terminal.ended, { status: 0, signal: null });
  assertRestored(terminal);
  const questions = terminal.bytes.text().split("\u001b[5n").length - 1;
  assert.ok(questions > 1, `${questions} questions`);
});

test("a slow line delays frames, but not keys or the clock", options, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-terminal-"));
  atEnd(t, () => rmSync(folder, { recursive: true }));
  const log = join(folder, "board.json");
  const terminal = await open(t, { baud: 38_400, env: { BOARD_ROWS: "20", BOARD_LOG: log } });
  // More than the kernel and the line buffer, so the console is slowed down from then on.
  await eventually("sixteen kilobytes at 3,840 a second", () => terminal.bytes.total > 16_000, 30_000);
  await terminal.press("q");
  assert.deepEqual(await terminal.ended, { status: 0, signal: null });
  const parsed = JSON.parse(readFileSync(log, "utf8"));
  assertRestored(terminal);
  assert.match(terminal.screen(), /after the console/);
  assert.ok(parsed.dropped > parsed.frames, `${parsed.dropped} frames dropped, ${parsed.frames} made`);
  const { slowestTurnMs, longestDrainMs } = parsed;
  assert.ok(longestDrainMs > 500, `no frame took longer than ${longestDrainMs} ms to leave`);
  assert.ok(slowestTurnMs < longestDrainMs / 2, `the loop stood still for ${slowestTurnMs} of ${longestDrainMs} ms`);
});
