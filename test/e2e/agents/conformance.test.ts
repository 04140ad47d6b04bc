// tier: long
/**
 * The official MCP conformance suite, directly at a server or client and through the gateway: each scenario has the
 * same verdicts, and everything that revision 2026-07-28 requires of servers passes. Source: mcp reference, 14.
 */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { peer } from "../../peers/index.ts";
import { startWithFiles } from "../support/config.ts";
import { GUARDRAILS } from "./support/fronting.ts";
import { outputOf, startProgram } from "./support/programs.ts";

const [sdk, suite, node] = await Promise.all([peer("mcp-sdk"), peer("mcp-conformance"), peer("node-22")]);
const skip = sdk.missing || suite.missing || node.missing;
const REVISION = "2026-07-28";
const REQUIRED = 37;

const here = dirname(fileURLToPath(import.meta.url));
const CLIENT = join(here, "programs/mcp-suite-client.mjs");
const LAUNCHER = resolve(here, "../../../bin/gateway");

interface Check {
  readonly id: string;
  readonly status: string;
  readonly description: string;
}

interface Verdict {
  readonly scenario: string;
  readonly passed: number;
  readonly failed: number;
}

async function verdicts(url: string): Promise<readonly Verdict[]> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-conformance-"));
  try {
    const args = [suite.path, "server", "--url", url, "--requirements", REVISION, "-o", folder];
    const out = await outputOf(node.path, args, { cwd: folder });
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

test("every server scenario passes through the gateway unchanged, with and without guardrails", { skip }, async (t) => {
  const url = await startProgram(t, "mcp-server.mjs", sdk.path);
  const common = { providers: [{ name: "p", dialect: "compat", base_url: url }], mcp: [{ name: "fixture", url }] };
  const direct = await verdicts(url);
  const required = direct.slice(0, REQUIRED);
  assert.deepEqual(
    required.filter(({ passed, failed }) => passed === 0 || failed > 0),
    [],
  );
  for (const more of [{}, { guardrails: GUARDRAILS }]) {
    const gateway = await startWithFiles(t, { ...common, ...more });
    assert.deepEqual(await verdicts(`${gateway.url}/mcp/fixture`), direct);
  }
});

/** Scenarios of this revision, without those about how a client gets a token. */
const CLIENT_SCENARIOS = [
  "tools_call",
  "request-metadata",
  "http-standard-headers",
  "http-custom-headers",
  "http-invalid-tool-headers",
  "sep-2322-client-request-state",
  "json-schema-ref-no-deref",
  "json-schema-2020-12-preservation",
];

/** Returns the checks that the suite's own server makes on the client. */
async function seenOf(scenario: string, launcher: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-conformance-"));
  try {
    const command = [process.execPath, CLIENT, sdk.path, launcher].join(" ");
    const options = ["--scenario", scenario, "--spec-version", REVISION, "-o", folder];
    await outputOf(node.path, [suite.path, "client", "--command", command, ...options], { isAnyEnd: true });
    const checks = (await readdir(folder, { recursive: true })).find((name) => name.endsWith("checks.json"));
    assert.ok(checks, `no checks of ${scenario}`);
    const all = JSON.parse(await readFile(join(folder, checks), "utf8")) as readonly Check[];
    return all.map(({ id, status, description }) => `${scenario} ${id} ${status} ${description}`).toSorted();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

for (const scenario of CLIENT_SCENARIOS) {
  test(`client scenario ${scenario} sees the client unchanged through the gateway`, { skip }, async () => {
    const [direct, through] = await Promise.all([seenOf(scenario, "direct"), seenOf(scenario, LAUNCHER)]);
    assert.ok(direct.some((check) => check.includes(" SUCCESS ")));
    assert.deepEqual(through, direct);
  });
}
