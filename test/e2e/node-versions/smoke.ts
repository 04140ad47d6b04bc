/**
 * The program on another version of Node.js than the one that runs the tests: some tests run with that version,
 * including their gateways, consoles and verbs.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { delimiter, dirname, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type PeerName, peer } from "../../peers/index.ts";
import { atEnd } from "../support/wait.ts";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");

/** Short tests of each kind, and those of a difference between versions of Node.js: broken connections. */
const SMOKE = {
  "how it starts": "test/cli/launcher.test.ts",
  "the official SDKs, whole and streamed": "test/e2e/sdk.test.ts",
  "writes to a cluster of three, and its audit trails": "test/e2e/admin/audit-cluster.test.ts",
  "an incident before the console": "test/e2e/console/incident-leader.test.ts",
};

/** Below the runner's limit for a file. */
const LIMIT_MS = 220_000;
/** Characters from the end of a failure's output. */
const SHOWN = 30_000;

/** Registers the tests of a version; they are skipped with the reason if it is not available. */
export async function smokeTest(version: PeerName): Promise<void> {
  const node = await peer(version);
  const files = Object.values(SMOKE);
  test(`${version}: ${Object.keys(SMOKE).join("; ")}`, { skip: node.missing, timeout: LIMIT_MS }, async (t) => {
    const PATH = [dirname(node.path), process.env["PATH"]].join(delimiter);
    const child = spawn(node.path, ["test/run.mjs", ...files], {
      cwd: root,
      env: { ...process.env, PATH },
      stdio: ["ignore", "pipe", "pipe"],
    });
    atEnd(t, () => void child.kill("SIGTERM"));
    let captured = "";
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding("utf8").on("data", (text: string) => {
        captured = (captured + text).slice(-SHOWN);
      });
    }
    const status = await new Promise((ended) => child.once("close", ended));
    assert.equal(status, 0, captured);
    const lines = captured.split("\n");
    for (const file of files) {
      const line = lines.find((line) => /^ok /.test(line) && line.includes(`  ${file}: `));
      assert.match(line ?? captured, /: [1-9]\d* passed/);
      t.diagnostic(line ?? "");
    }
    for (const line of lines) if (line.startsWith("skipped: ")) t.diagnostic(line);
  });
}
