/**
 * The official MCP conformance suite, straight at a server and through the gateway in front of it: each scenario has the
 * same verdicts, and all that revision 2026-07-28 requires pass. Source: mcp reference, 14.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { peer } from "../../peers/index.ts";
import { startWithFiles } from "../support/config.ts";
import { outputOf, startProgram } from "./support/programs.ts";

const [sdk, suite, node] = await Promise.all([peer("mcp-sdk"), peer("mcp-conformance"), peer("node-22")]);
const skip = sdk.missing || suite.missing || node.missing;
const REVISION = "2026-07-28";
const REQUIRED = 37;

interface Verdict {
  readonly scenario: string;
  readonly passed: number;
  readonly failed: number;
}

async function verdicts(url: string): Promise<readonly Verdict[]> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-conformance-"));
  try {
    const args = [suite.path, "server", "--url", url, "--requirements", REVISION, "-o", folder];
    const out = await outputOf(node.path, args, folder);
    const found = out.matchAll(/^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed$/gm);
    return [...found].map(([, scenario = "", passed, failed]) => ({
      scenario,
      passed: Number(passed),
      failed: Number(failed),
    }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test("the gateway is transparent to every scenario of the suite", { skip }, async () => {
  const file = { after };
  const url = await startProgram(file, "mcp-server.mjs", sdk.path);
  const gateway = await startWithFiles(file, {
    providers: [{ name: "p", dialect: "compat", base_url: url }],
    mcp: [{ name: "fixture", url }],
  });
  const direct = await verdicts(url);
  const required = direct.slice(0, REQUIRED);
  assert.deepEqual(
    required.filter(({ passed, failed }) => passed === 0 || failed > 0),
    [],
  );
  assert.deepEqual(await verdicts(`${gateway.url}/mcp/fixture`), direct);
});
