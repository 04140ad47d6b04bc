// tier: long
/**
 * The official A2A compatibility kit (JSON-RPC, without push), directly at an agent and through a guarded gateway in
 * front of it: every test that passes directly passes through the gateway. The kit is in no registry: `GATEWAY_A2A_TCK`
 * names a folder with its branch of A2A 1.0. Source: a2a reference, 11.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { peer } from "../../peers/index.ts";
import { startWithFiles } from "../support/config.ts";
import { freePort } from "../support/ports.ts";
import { GUARDRAILS } from "./support/fronting.ts";
import { outputOf, startProgram } from "./support/programs.ts";

const { GATEWAY_A2A_TCK: kit } = process.env;
const [sdks, python] = await Promise.all([peer("python-agent-sdks"), peer("python-a2a-tck")]);
const skip = kit === undefined ? "GATEWAY_A2A_TCK names no kit" : sdks.missing || python.missing;
/** The kit waits most of the time. */
const LIMIT_MS = 110_000;

/** Returns verdicts by test name; a skipped test has not passed. */
async function verdicts(agent: string): Promise<ReadonlyMap<string, boolean>> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-tck-"));
  try {
    const report = join(folder, "report.xml");
    const loop = "asyncio_default_fixture_loop_scope=function";
    const options = ["-q", "-p", "no:cacheprovider", "-o", loop, `--junitxml=${report}`];
    const args = ["-m", "pytest", "tests/compatibility/", `--sut-host=${agent}`, "--transport=jsonrpc", ...options];
    await outputOf(python.path, args, { cwd: kit, limitMs: LIMIT_MS });
    const cases = (await readFile(report, "utf8")).matchAll(/<testcase ([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g);
    return new Map(
      [...cases].map(([, facts = "", , inner = ""]) => [
        facts.replace(/ time="[^"]*"/, ""),
        !/<(?:failure|error|skipped)\b/.test(inner),
      ]),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test("every scenario of the kit passes through the gateway unchanged", { skip }, async (t) => {
  const url = await startProgram(t, "a2a-agent.py", sdks.path);
  const listen = `127.0.0.1:${await freePort()}`;
  const gateway = await startWithFiles(
    t,
    {
      public_url: `http://${listen}`,
      providers: [{ name: "p", dialect: "compat", base_url: url }],
      a2a: [{ name: "fixture", url }],
      guardrails: GUARDRAILS,
    },
    { listen },
  );
  const [direct, through] = await Promise.all([verdicts(url), verdicts(`${gateway.url}/a2a/fixture`)]);
  const passing = [...direct].filter(([, isPassed]) => isPassed).map(([name]) => name);
  t.diagnostic(`${passing.length} pass directly, ${[...through.values()].filter(Boolean).length} through the gateway`);
  assert.ok(passing.length > 80, `${passing.length} pass directly`);
  assert.deepEqual(
    passing.filter((name) => through.get(name) !== true),
    [],
  );
});
