/**
 * Files that verbs read: anything other than a regular file is refused at once, and a pack that does not compile is
 * reported.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runProgram } from "../e2e/support/gateway.ts";
import { within } from "../e2e/support/wait.ts";

const file = { after };
const dir = await mkdtemp(join(tmpdir(), "gateway-packs-"));
after(() => rm(dir, { recursive: true, force: true }));

async function ended(...args: readonly string[]) {
  const program = runProgram(file, { args });
  const { status } = await within(args.join(" "), program.ended, 30_000);
  return { status, stdout: program.stdout(), stderr: program.stderr() };
}

/** Copies a built-in pack under another id. */
async function copied(name: string): Promise<string> {
  const to = join(dir, name);
  await cp("packs/baseline-pii", to, { recursive: true });
  const pack = join(to, "pack.yaml");
  await writeFile(pack, (await readFile(pack, "utf8")).replace(/^id: .*$/m, `id: our-${name}`));
  return to;
}

test("every verb that reads whole files refuses a pipe at once", async () => {
  const pipe = join(dir, "pipe");
  execFileSync("mkfifo", [pipe]);
  const pack = await copied("piped");
  await rm(join(pack, "README.md"));
  execFileSync("mkfifo", [join(pack, "README.md")]);
  const rows = [
    ["pack", "show", pack],
    ["pack", "test", pack],
    ["pack", "add", pack],
    ["pack", "add", "-deployment", pipe, "baseline-pii"],
    ["cluster", "recover", "-config", pipe],
    ["check", "-config", pipe],
    ["-config", pipe],
    ["-config", pipe, "-test-rules", pipe],
  ];
  for (const row of rows) {
    const { status, stderr, stdout } = await ended(...row);
    assert.ok(status !== 0 && status !== null, `${row.join(" ")}: ${status}`);
    assert.match(stderr + stdout, /no regular file|not a regular file|is not a file|regular/, row.join(" "));
  }
});

test("pack show of a directory that does not compile prints it with the reason and exits with 1", async () => {
  const broken = await copied("broken");
  await writeFile(
    join(broken, "fragment.yaml"),
    "access_rules:\n  - { name: x, condition: 'nothing(', action: deny }\n",
  );
  const { status, stderr } = await ended("pack", "show", broken);
  assert.notEqual(status, 0);
  assert.match(stderr, /condition|does not compile|refused/);
});

test("with -config the other flags are ignored, including invalid values", async () => {
  for (const bad of [["-dialect", "nonsense"], ["-max-body", "many"], ["-max-body=-1"]]) {
    const { status, stderr } = await ended("-config", join(dir, "absent.yaml"), ...bad);
    assert.equal(status, 10, stderr);
    assert.equal((await ended(...bad)).status, 2, "and judged without it");
    assert.equal((await ended(...bad, "-config", join(dir, "absent.yaml"))).status, 10);
  }
});
