/** A SIGHUP that comes before anybody can reload is kept, or ends the process where nobody will. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { holdHangups } from "../../src/cli/hangups.ts";

/** As the kernel delivers it; resolves when the listeners of before have been called. */
async function hangUp(): Promise<void> {
  // A signal that is waited for keeps no process alive.
  const alive = setTimeout(() => undefined, 30_000);
  const heard = once(process, "SIGHUP");
  process.kill(process.pid, "SIGHUP");
  await heard;
  clearTimeout(alive);
}

test("a hangup of before somebody listens is passed on once, and later ones as they come", async () => {
  const held = holdHangups();
  await hangUp();
  await hangUp();
  let heard = 0;
  const end = held.pass(() => {
    heard += 1;
  });
  assert.equal(heard, 1);
  await hangUp();
  assert.equal(heard, 2);
  end();
  assert.equal(process.listenerCount("SIGHUP"), 0);
});

test("without one before, nothing is passed on", () => {
  const held = holdHangups();
  held.pass(() => assert.fail("nobody hung up"))();
  assert.equal(process.listenerCount("SIGHUP"), 0);
});

test("a process that has nothing to reload is ended by the hangup that was kept", () => {
  const file = pathToFileURL(resolve("src/cli/hangups.ts"));
  const code = `
    import { once } from "node:events";
    import { holdHangups } from ${JSON.stringify(file.href)};
    const held = holdHangups();
    setTimeout(() => undefined, 60_000);
    const heard = once(process, "SIGHUP");
    process.kill(process.pid, "SIGHUP");
    await heard;
    process.stdout.write("held");
    held.letThrough();`;
  const { signal, stdout } = spawnSync(process.execPath, ["--import", "tsx", "--input-type=module", "-e", code], {
    encoding: "utf8",
    timeout: 30_000,
    killSignal: "SIGKILL",
  });
  assert.deepEqual([stdout, signal], ["held", "SIGHUP"]);
});
