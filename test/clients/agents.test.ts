// tier: long
/** Six agents and command lines with their defaults, through the gateway, by `npm run agents`. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("./agents.ts", import.meta.url));
const AGENTS = ["claude-code", "codex", "opencode", "aider", "qwen-code", "llm"];

const ending = new AbortController();
after(() => ending.abort());

function runAgents(...args: readonly string[]): Promise<{ readonly status: number | null; readonly text: string }> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, ["--import", "tsx", PROGRAM, ...args], {
      cwd: fileURLToPath(new URL("../..", import.meta.url)),
      signal: ending.signal,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    const read = (more: string): void => {
      text += more;
    };
    child.stdout.setEncoding("utf8").on("data", read);
    child.stderr.setEncoding("utf8").on("data", read);
    child.once("error", fail);
    child.once("close", (status) => done({ status, text }));
  });
}

for (const name of AGENTS) {
  test(`${name} with its defaults is answered by a provider of either dialect`, async (t) => {
    const { status, text } = await runAgents("-only", name);
    const leftOut = /^\S+: left out, (.*)$/m.exec(text)?.[1];
    if (leftOut !== undefined) return t.skip(leftOut);
    const outcomes = Array.from(text.matchAll(/^\S+ -> \S+: \w+/gm), ([outcome]) => outcome);
    assert.deepEqual(outcomes, [`${name} -> sim-compat: works`, `${name} -> sim-messages: works`], text);
    assert.equal(status, 0, text);
  });
}

test("an agent outside the table is refused with the known names", async () => {
  const { status, text } = await runAgents("-only", "nobody");
  assert.equal(status, 2);
  assert.equal(text, `no agent is called \`nobody\`; there are ${AGENTS.join(", ")}\n`);
});
