/**
 * Packs in a real terminal: a local folder with a pack whose cases take long. Keys are answered meanwhile, progress is
 * shown, Esc stops it, and no process outlives the console.
 */
import assert from "node:assert/strict";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { ptySkip } from "../../console/support/terminal.ts";
import { startPlane } from "../admin/support/plane.ts";
import { suiteOwner } from "../admin/support/suite.ts";
import { provider } from "../config/support/nodes.ts";
import { eventually } from "../support/wait.ts";
import { openConsole, root } from "./support/console-gateway.ts";
import { faultsOf } from "./support/frame.ts";

const PACK = "baseline-secrets";
const CASES = 4_000;

async function ownPack(home: string, cases: number | undefined): Promise<void> {
  const to = join(home, "packs/ours");
  await cp(join(root, "packs", PACK), to, { recursive: true });
  const file = join(to, "pack.yaml");
  await writeFile(file, (await readFile(file, "utf8")).replace(`id: ${PACK}`, "id: ours"));
  if (cases === undefined) return;
  const text = "no secret at all ".repeat(40);
  const all = Array.from(
    { length: cases },
    (_, at) => `  - { name: c${at}, guardrail: { text: "${text}" }, expect: allow }\n`,
  );
  await writeFile(join(to, "tests.yaml"), `suite: ours\ncases:\n${all.join("")}`);
}

/** Returns the children of a process from the kernel's process list. */
async function childrenOf(pid: number): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
    if (Number(/\) \S (\d+) /.exec(stat)?.[1]) === pid) found.push(name);
  }
  return found;
}

const isThere = async (pid: string): Promise<boolean> =>
  /\) [^ZX] /.test(await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ""));

describe("packs from a local folder", { skip: ptySkip }, async () => {
  if (ptySkip !== false) return;
  const { local } = await startPlane(suiteOwner(), {
    deployment: { providers: [provider("one", "http://127.0.0.1:9")] },
  });
  assert.equal(local.kind, "local");
  const { socketPath: socket } = local;

  test("keys are answered while a pack is tested, Esc stops it, and r tests again", async (t) => {
    const console = await openConsole(t, { socket, columns: 120, rows: 35 });
    await ownPack(console.home, CASES);
    await console.command("packs ./packs");
    await console.until(/>\.\/packs\/ours/);
    await console.until(/trying +\d+ of 4000 of its own cases {2}Esc stops it/);
    const took: number[] = [];
    for (let times = 0; times < 5; times += 1) {
      const begunAt = performance.now();
      await console.press("?");
      await console.until(/┌─ Help/);
      took.push(performance.now() - begunAt);
      await console.press("?");
      await console.until(/>\.\/packs\/ours/);
    }
    t.diagnostic(`${took.length} keys, the slowest was answered after ${Math.round(Math.max(...took))} ms`);
    await console.press("r");
    await console.until(/trying +\d+ of 4000/);
    await console.press("esc");
    await console.until(/stopped; r starts it again/);
    assert.deepEqual(faultsOf(console), [], console.screen());
    await eventually("the end of what tried it", async () => (await childrenOf(console.pid)).length === 0);
    await console.press("r");
    await console.until(/trying +\d+ of 4000/);
    const working = await childrenOf(console.pid);
    assert.equal(working.length, 1);
    await console.press("q");
    assert.deepEqual(await console.ended, { status: 0, signal: null });
    await eventually("the end of what worked for it", async () => !(await isThere(working[0] ?? "")));
  });

  test("the worker process of a killed console ends too", async (t) => {
    const console = await openConsole(t, { socket, columns: 120, rows: 35 });
    await ownPack(console.home, CASES);
    await console.command("packs ./packs/ours");
    await console.until(/trying +\d+ of 4000/);
    const [working = ""] = await childrenOf(console.pid);
    assert.ok(await isThere(working));
    console.signal("SIGKILL");
    await console.ended;
    await eventually("the end of what worked for it", async () => !(await isThere(working)));
  });

  test("a pack of a folder is added like a built-in one, also by an absolute path", async (t) => {
    const console = await openConsole(t, { socket, columns: 120, rows: 35 });
    await ownPack(console.home, undefined);
    await console.command(`packs ${console.home}/packs`);
    await console.until(/its cases +pass: /);
    await console.press("n");
    await console.until("Add pack ours");
    await console.until(/Last hour +no recent requests/);
    console.type("ours");
    await console.press("enter");
    await console.until(/ours is added: /);
    await console.until(/>\S+\/packs\/ours +1\.0\.0 .* all of it/);
    await console.press("q");
    await console.ended;
  });
});
