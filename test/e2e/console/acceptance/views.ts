/**
 * Acceptance item 4, with a gateway and without: every view is complete at every size and shows its rows, or the
 * problem and the remedy when the gateway is gone.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ConsoleGateway, openConsole } from "../support/console-gateway.ts";
import { shows, sweep } from "../support/views.ts";

export function viewsTests({ socket }: ConsoleGateway, isShort: boolean): void {
  test("every view is complete at every size, with its rows", async (t) => {
    const console = await openConsole(t, { socket });
    await sweep(console, ({ normal }) => shows(console, normal), { isShort });
  });
}

/** Kills the gateway. */
export function viewsGoneTests({ node, socket }: ConsoleGateway, isShort: boolean): void {
  test("every view is complete at every size when the gateway is gone", async (t) => {
    // This console has read only its first view.
    const fresh = await openConsole(t, { socket }, /members 1\/1 reachable.*budgets .*files /);
    node.program.signal("SIGKILL");
    await node.program.ended;
    await fresh.until("OFFLINE");
    await sweep(
      fresh,
      async ({ reads, isReadAtOnce }) => {
        await shows(fresh, /OFFLINE retry \d+s/);
        if (reads && !isReadAtOnce) return shows(fresh, /OFFLINE: .*cannot (be )?reach/, /Next try in .+; r tries now/);
        // If it was read in time, the known data stays.
        await shows(fresh, /offline: cannot reach|OFFLINE since \d|OFFLINE: .*cannot (be )?reach/);
      },
      { isShort },
    );
    // The last view has the focus in its editor.
    await fresh.command("overview");
    await fresh.press("q");
    assert.deepEqual(await fresh.ended, { status: 0, signal: null });
  });
}
