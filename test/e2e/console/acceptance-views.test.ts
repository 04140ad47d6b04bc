/**
 * Acceptance item 4, with a gateway and without: every view is whole at every size, shows what there is, and says what is
 * the matter and what to do when the gateway is gone.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ptySkip } from "../../console/support/terminal.ts";
import { isShort } from "../../support/random-length.ts";
import { openConsole, PROVIDERS, startScene } from "./support/scene.ts";
import { shows, sweep } from "./support/views.ts";

test("every view is whole at every size, with its rows and when the gateway is gone", { skip: ptySkip }, async (t) => {
  const { node, socket } = await startScene(t);
  const params = { kind: "provider", name: PROVIDERS.idle } as const;
  await node.client.call("put_suspension", { params, body: { reason: "spare", duration: "1h" } });
  const console = await openConsole(t, { socket });
  await sweep(console, ({ normal }) => shows(console, normal), { isShort });

  // Another one, which has seen nothing but its first view.
  const fresh = await openConsole(t, { socket }, /members 1\/1 reachable.*budgets .*files /);
  node.program.signal("SIGKILL");
  await node.program.ended;
  await fresh.until("OFFLINE");
  await sweep(
    fresh,
    async ({ reads, isReadAtOnce }) => {
      await shows(fresh, /OFFLINE retry \d+s/);
      if (reads && !isReadAtOnce) return shows(fresh, /OFFLINE: .*cannot (be )?reach/, /Next try in .+; r tries now/);
      // Where it was read in time, what was known stays.
      await shows(fresh, /offline: cannot reach|OFFLINE since \d|OFFLINE: .*cannot (be )?reach/);
    },
    { isShort },
  );
  // The last of them has the keys in its editor.
  await fresh.command("overview");
  await fresh.press("q");
  assert.deepEqual(await fresh.ended, { status: 0, signal: null });
});
