/**
 * Acceptance items 1 and 8: the console never clears the terminal after the first frame, and writes no color if none is
 * wanted.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ConsoleGateway, EDITOR_HINT, KEYS, openConsole, type SeenConsole } from "../support/console-gateway.ts";
import { faultsOf } from "../support/frame.ts";
import { coloursIn, hasStyle } from "../support/sequences.ts";
import { goTo, SIZES, sweep, VIEWS_UNDER_TEST } from "../support/views.ts";

const RESIZES = [
  [61, 17],
  [59, 15],
  [40, 10],
  [132, 43],
  [100, 30],
  [99, 29],
  [200, 60],
  [80, 24],
] as const;

/** Opens dialogs of several kinds, the help, pages, prompts and the workbench with a result. */
async function everything(console: SeenConsole): Promise<void> {
  await console.command("providers");
  await console.until(/acme-alt +!FAILING/);
  for (const keys of [["s"], ["d"], ["J"], ["?"], ["/"], [":"], ["S"], ["t"], ["b"], ["space"], ["z"]]) {
    await console.press(...keys);
    await console.settled();
    await console.press("esc", "esc");
  }
  await console.command("keys");
  await console.until(new RegExp(`^┌─ Keys .*${KEYS.used}`, "ms"));
  await console.press("X");
  await console.until(/Revoke /);
  await console.press("esc");
  await console.command("query");
  await console.until(EDITOR_HINT);
  console.type("select name, status from keys");
  await console.press("ctrl-r");
  await console.until(/── 2 rows .*Esc leave/s);
  await console.press("esc");
  await console.until((text) => !EDITOR_HINT.test(text), "the result, with the keys");
  await console.press("r");
  await console.settled();
}

export function bytesTests({ socket, failAgain }: ConsoleGateway): void {
  test("the console never clears the screen or the text above it after the first frame", async (t) => {
    const console = await openConsole(t, { socket });
    const { clears, scrollbackClears } = console.bytes;
    assert.deepEqual({ clears, scrollbackClears }, { clears: 1, scrollbackClears: 0 });
    await everything(console);
    for (const view of VIEWS_UNDER_TEST) {
      await goTo(console, view);
      for (const [columns, rows] of RESIZES) console.resize(columns, rows);
      await console.settled();
    }
    for (const [columns, rows] of [...RESIZES, ...SIZES]) {
      console.resize(columns, rows);
      // Until the program has the new size, the screen has the previous frame, cut off.
      const isWhole = () => columns < 60 || rows < 16 || faultsOf(console).length === 0;
      await console.until(() => console.row(rows - 1) === "" && isWhole(), `a whole frame at ${columns}x${rows}`);
    }
    await console.press("ctrl-c");
    assert.deepEqual(await console.ended, { status: 0, signal: null });
    const { bytes } = console;
    assert.deepEqual([bytes.clears, bytes.scrollbackClears], [1, 0]);
    assert.deepEqual([bytes.alternateEntries, bytes.alternateLeaves], [1, 1]);
  });

  for (const env of [{ NO_COLOR: "1" }, { NO_COLOR: "1", LC_ALL: "C" }, { NO_COLOR: "1", FORCE_COLOR: "1" }]) {
    test(`the console has no color with ${JSON.stringify(env)}`, async (t) => {
      const console = await openConsole(t, { socket, env }, "LEADER");
      const isAscii = env.LC_ALL === "C";
      const title = (message: string): RegExp => new RegExp(`^${isAscii ? "\\+-" : "┌─"} ${message} `, "m");
      for (const view of VIEWS_UNDER_TEST) {
        await console.command(view.command);
        await console.until(title(view.title));
      }
      await failAgain();
      await console.command("providers");
      await console.until("!FAILING");
      await console.press("s");
      await console.until("Suspend provider:acme-alt");
      await console.press("esc", "q");
      assert.deepEqual(await console.ended, { status: 0, signal: null });
      const text = console.bytes.text();
      assert.deepEqual(coloursIn(text), []);
      if (isAscii) assert.doesNotMatch(text, /[^\x00-\x7f]/u);
    });
  }

  test("the console has colors by default, so their absence is meaningful", async (t) => {
    const console = await openConsole(t, { socket });
    await sweep(console, () => console.settled(), { sizes: SIZES.slice(0, 1) });
    assert.notDeepEqual(coloursIn(console.bytes.text()), []);
    assert.ok(hasStyle(console.bytes.text()));
  });
}
