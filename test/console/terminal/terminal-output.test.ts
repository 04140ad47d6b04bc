// tier: all
/** An output with a slow terminal. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { WRITE_NOW_LIMIT_MS } from "../../../src/console/terminal/terminal-output.ts";
import { atEnd, type Owner, within } from "../../e2e/support/wait.ts";
import { childArgs } from "../../support/child-program.ts";
import { openTerminal, ptySkip, type TerminalOptions } from "../support/terminal.ts";

const options = { skip: ptySkip };
const writer = childArgs("./fixtures/writer.ts", import.meta.url);

/** Returns the terminal after the writer has ended, and the writer's result. */
async function run(owner: Owner, what: string, more: Partial<TerminalOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "gateway-output-"));
  atEnd(owner, () => rmSync(folder, { recursive: true }));
  const log = join(folder, "writer.json");
  const args = [...writer, what];
  const terminal = openTerminal(owner, { args, env: { WRITER_LOG: log }, ...more });
  assert.deepEqual(await within("the end of the writer", terminal.ended, 30_000), { status: 0, signal: null });
  return { terminal, result: JSON.parse(readFileSync(log, "utf8")) };
}

test("output is written in order, and its completion is reported", options, async (t) => {
  const { terminal, result } = await run(t, "order");
  assert.equal(terminal.screen(), "one two dréi");
  assert.deepEqual(result, { ends: ["one", "two", "nothing"], wasBusy: true, isBusy: false, bytesWritten: 14 });
});

test("a slow terminal eventually gets all output", options, async (t) => {
  const { terminal, result } = await run(t, "flood", { baud: 384_000 });
  assert.match(terminal.screen(), /line 598 x+\nline 599 x+$/);
  assert.equal(terminal.bytes.total, result.bytesWritten + 600, "each line feed became two bytes");
  assert.ok(result.lastDrainMs > 200, `drained in ${result.lastDrainMs} ms`);
});

test("a wait for a slow terminal can be aborted", options, async (t) => {
  const { result } = await run(t, "abort", { baud: 38_400 });
  assert.deepEqual(result, { why: "TimeoutError", early: "early", isBusy: true });
});

test("urgent output replaces pending output", options, async (t) => {
  const { terminal, result } = await run(t, "now", { baud: 38_400 });
  assert.ok(result.length > 0, "something waited");
  assert.match(terminal.screen(), /at once\n\s*and on$/);
  assert.doesNotMatch(terminal.screen(), /dropped|after the end|line 599/);
});

test("a blocked terminal does not keep the process alive", options, async (t) => {
  const { terminal, result } = await run(t, "stuck", { baud: 100 });
  assert.ok(result.tookMs >= WRITE_NOW_LIMIT_MS && result.tookMs < WRITE_NOW_LIMIT_MS + 3_000, `${result.tookMs} ms`);
  assert.doesNotMatch(terminal.screen(), /never seen/);
});
