/**
 * Scripted cases: commands, a line of dashes, the expected trace. A block may have several commands with consecutive
 * traces. GATEWAY_REWRITE=1 rewrites the traces: review the difference before keeping it.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { runCommand } from "./commands.ts";
import { createScriptCluster } from "./script-cluster.ts";

const FOLDER = new URL("./scripts/", import.meta.url);
const SEPARATOR = "----";

/** Returns the script with the traces of this run; the checker's invariants are verified throughout. */
function replay(script: string): string {
  const cluster = createScriptCluster();
  const blocks = script.trimEnd().split(/\n\n+/);
  return `${blocks.map((block) => replayBlock(block.split("\n"))).join("\n\n")}\n`;

  function replayBlock(lines: readonly string[]): string {
    const end = lines.indexOf(SEPARATOR);
    const written = end === -1 ? lines : lines.slice(0, end);
    const commands = written.filter((line) => !line.startsWith("#"));
    if (commands.length === 0) return written.join("\n");
    const trace = commands.flatMap((line) => runCommand(cluster, line));
    return [...written, SEPARATOR, ...(trace.length > 0 ? trace : ["ok"])].join("\n");
  }
}

const names = readdirSync(FOLDER).filter((name) => name.endsWith(".txt"));

test("there are scripts to replay", () => {
  assert.ok(names.length >= 10, `${names.length} scripts`);
});

for (const name of names) {
  const file = new URL(name, FOLDER);
  const script = readFileSync(file, "utf8");
  const title = (script.split("\n")[0] ?? "").replace(/^#\s*/, "");
  test(`${name}: ${title}`, () => {
    const replayed = replay(script);
    if (process.env["GATEWAY_REWRITE"] === "1") writeFileSync(file, replayed);
    else assert.equal(replayed, script);
  });
}
