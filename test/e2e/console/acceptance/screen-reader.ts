/** Acceptance item 9: for a screen reader each view is text from top to bottom, with roles and without drawing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ConsoleGateway, leaveEditor, openConsole } from "../support/console-gateway.ts";
import { withoutSequences } from "../support/sequences.ts";
import { VIEWS_UNDER_TEST } from "../support/views.ts";

const TABLES = new Set([
  ...["providers", "errors", "suspensions", "models", "keys", "profiles", "budgets", "cluster", "config", "revisions"],
  ...["secrets", "audit-heads", "audit-tail", "changes", "overview", "mcp", "a2a", "guardrails", "pool"],
]);

export function readerTests({ socket }: ConsoleGateway): void {
  test("each view is read out line by line, with its name, rows and keys", async (t) => {
    const env = { INK_SCREEN_READER: "true" };
    // Text that is read aloud is not limited by the terminal height, so this terminal is tall enough for all of it.
    const console = await openConsole(t, { socket, env, columns: 120, rows: 200 }, "Overview");
    for (const { id, title, command } of VIEWS_UNDER_TEST) {
      await leaveEditor(console, /textbox/);
      const from = console.bytes.text().length;
      await console.press(":");
      console.type(command);
      await console.press("enter");
      await console.until((screen) => new RegExp(`^${title}( |$)`, "m").test(screen), title);
      await console.until((screen) => /, as unix:\d+, node n1 leader/.test(screen) && !/busy/.test(screen));
      await console.until(/^providers 1 ok|providers \d/m, `${id}: how it does`);
      await console.until(/list: keys/, `${id}: its keys`);
      await console.settled();
      const screen = console.screen();
      assert.match(screen, /^gateway unix:.+, as unix:\d+, node n1 leader/m, `${id}: where one is`);
      assert.match(screen, /listitem: \S+ \S+/, id);
      if (TABLES.has(id)) {
        // Heads are sent to the cluster every five seconds.
        await console.until("table:", id);
        const screen = console.screen();
        assert.match(screen, /table:/, id);
        assert.match(screen, /listitem: \(selected\) \S[^:]*: \S/, `${id}: a row with its column's name`);
        assert.match(screen, /^\d+ rows?|^[\d-]+ of/m, `${id}: how many rows`);
      }
      const written = withoutSequences(console.bytes.text().slice(from));
      assert.doesNotMatch(written, /[\u2500-\u259f]/, `${id}: nothing is drawn`);
    }
    // This is a dialog with its fields and its buttons.
    await leaveEditor(console, /textbox/);
    await console.press("2");
    await console.until(/NAME: acme-alt/);
    await console.press("s");
    await console.until("dialog: Suspend provider:acme-alt");
    assert.match(console.screen(), /textbox: \(required, selected\) Reason: /);
    assert.match(console.screen(), /radio: \(checked\) 30m/);
    assert.match(console.screen(), /button: Enter, then y suspend/);
    await console.press("esc", "q");
    assert.deepEqual(await console.ended, { status: 0, signal: null });
    assert.deepEqual([console.bytes.clears, console.bytes.scrollbackClears], [1, 0]);
  });

  test("a terminal without cursor control gets lines in order and no escape sequence", async (t) => {
    const console = await openConsole(t, { socket, env: { TERM: "dumb" }, columns: 120, rows: 200 }, "Overview");
    await console.until(/^providers 1 ok|providers \d/m);
    await console.press("2");
    await console.until(/NAME: acme-alt/);
    const before = console.bytes.text().length;
    await console.press("s");
    await console.until("dialog: Suspend provider:");
    const printed = console.bytes.text().slice(before);
    assert.match(printed, /textbox: \(required, selected\) Reason: /);
    assert.doesNotMatch(printed, /^gateway unix:/m, "what has not changed is not printed again");
    await console.press("esc", "q");
    assert.deepEqual(await console.ended, { status: 0, signal: null });
    assert.doesNotMatch(console.bytes.text(), /\u001b/);
  });
}
