/**
 * The program on another version of Node.js than the one that runs the tests: some tests run by that version, whose
 * gateways, consoles and verbs are of it too.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { delimiter, dirname, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type PeerName, peer } from "../../peers/index.ts";
import { atEnd } from "../support/wait.ts";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");

/** Short ones of each kind, and those of what versions of Node.js have differed in: connections that break. */
const SMOKE = {
  "how it starts": "test/cli/launcher.test.ts",
  "the official SDKs, whole and streamed": "test/e2e/sdk.test.ts",
  "writes to a cluster of three, and its audit trails": "test/e2e/admin/audit-cluster.test.ts",
  "an incident before the console": "test/e2e/console/incident-leader.test.ts",
};

/** Below the limit that the runner sets a file. */
const LIMIT_MS = 220_000;
/** Characters of the end of what a failure says. */
const SHOWN = 30_000;

/** Registers the tests of a version; they are skipped, with the reason, where it cannot be had. */
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
    let said = "";
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-SHOWN);
      });
    }
    const status = await new Promise((ended) => child.once("close", ended));
    assert.equal(status, 0, said);
    const lines = said.split("\n");
    for (const file of files) {
      const line = lines.find((line) => /^ok /.test(line) && line.includes(`  ${file}: `));
      assert.match(line ?? said, /: [1-9]\d* passed/);
      t.diagnostic(line ?? "");
    }
    for (const line of lines) if (line.startsWith("skipped: ")) t.diagnostic(line);
  });
}
