/** The runner's summary for a file with tests of every outcome, and the sums of .ci/run. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";

const ROOT = resolve(import.meta.dirname, "../..");
const MIXED = "test/data/runner/mixed.test.ts";

const folder = mkdtempSync(join(tmpdir(), "gateway-runner-"));
after(() => rmSync(folder, { recursive: true }));

interface Ran {
  readonly status: number;
  readonly lines: readonly string[];
}

/** With `NODE_TEST_CONTEXT` the inner tests would report to this process's runner. */
function runShell(command: string, env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const options = { cwd: ROOT, env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...env } };
  return new Promise((done) => {
    execFile("/bin/sh", ["-c", command], options, (error, stdout) => {
      done({ status: error === null ? 0 : Number(error.code), lines: stdout.trimEnd().split("\n") });
    });
  });
}

test("a failed test prints the command that runs it alone, a skipped one the reason, and the last line the counts", async () => {
  const { status, lines } = await runShell(`node test/run.mjs ${MIXED}`);
  assert.equal(status, 1);
  assert.equal(lines.at(-1), "1 passed, 2 failed, 1 skipped");
  assert.ok(lines.includes(`skipped: ${MIXED}: one that is skipped: no such program`), lines.join("\n"));
  const commands = lines.flatMap((line) => /^failed: .*: run again by `(.*)`$/.exec(line)?.[1] ?? []);
  assert.equal(commands.length, 2);
  const [first = "", group = ""] = await Promise.all(
    commands.map(async (command) => (await runShell(command)).lines.at(-1)),
  );
  assert.match(first, /^0 passed, 1 failed/);
  assert.match(group, /^0 passed, 1 failed/);
});

test("an argument that names nothing to run ends the run with one line", async () => {
  for (const [given, message] of [
    ["test/none.test.ts test/base", "there is no file or folder test/none.test.ts"],
    ["test/data/vectors", "there is no test in test/data/vectors; the name of a test file ends in .test.ts"],
    ["--tier=short", "--tier is one of test, all, long, not short"],
  ] as const) {
    const { status, lines } = await runShell(`node test/run.mjs ${given} 2>&1`);
    assert.deepEqual([status, lines], [2, [`test/run.mjs: ${message}`]]);
  }
});

test("with GATEWAY_TEST_COUNTS the counts are written to that file, including runs that could not start", async () => {
  const counts = join(folder, "counts");
  writeFileSync(counts, "");
  const { status, lines } = await runShell(`node test/run.mjs ${MIXED}`, { GATEWAY_TEST_COUNTS: counts });
  assert.equal(status, 1);
  assert.doesNotMatch(lines.at(-1) ?? "", /passed/);
  assert.deepEqual(JSON.parse(readFileSync(counts, "utf8")), { passed: 1, failed: 2, skipped: 1 });
  const sumOf = (...statuses: readonly string[]) =>
    spawnSync(process.execPath, [join(ROOT, "test/runner/sum-counts.mjs"), counts, ...statuses], { encoding: "utf8" });
  assert.equal(sumOf("1").stdout, "1 passed, 2 failed, 1 skipped\n");
  assert.equal(sumOf("1", "1").stdout, "1 passed, 3 failed, 1 skipped\n");
  assert.equal(sumOf("1", "0").stdout, "1 passed, 2 failed, 1 skipped\n");
  writeFileSync(counts, "");
  assert.equal(sumOf("1", "0").stdout, "0 passed, 1 failed, 0 skipped\n");
});
