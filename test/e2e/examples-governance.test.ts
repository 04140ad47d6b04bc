/**
 * Runs `examples/governance` as it is printed: its files, with addresses and paths of this machine in place of the
 * company's, simulated providers in place of the real ones, and the commands of its README block by block.
 */

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isMap, parseDocument } from "yaml";
import { suiteOwner } from "./admin/support/suite.ts";
import { type Gateway, startGateway } from "./support/gateway.ts";
import { simulated } from "./support/simulated.ts";
import { atEnd, eventually } from "./support/wait.ts";

const ROOT = resolve(fileURLToPath(new URL("../..", import.meta.url)));
const EXAMPLE = join(ROOT, "examples/governance");
const SECRETS = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY"];
const ENV = { GATEWAY_CLUSTER_SECRET: "a-secret-that-is-long-enough-for-tests" };

const isMissing = spawnSync("curl", ["--version"]).status === 0 ? false : "curl is not installed";

describe("governance example", { skip: isMissing }, () => {
  const owner = suiteOwner();
  let dir: string;
  let gateway: Gateway;
  let blocks: readonly (readonly string[])[];

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "gateway-example-"));
    atEnd(owner, () => rm(dir, { recursive: true, force: true }));
    await cp(EXAMPLE, dir, { recursive: true });
    await mkdir(join(dir, "secrets"));
    for (const name of SECRETS) await writeFile(join(dir, "secrets", name), "k");
    const { url } = await simulated(owner);
    await replaceIn(join(dir, "node.yaml"), [
      [["listen"], "127.0.0.1:0"],
      [["metrics_listen"], "127.0.0.1:0"],
      [["secrets_dir"], join(dir, "secrets")],
      [["cluster", "data_dir"], join(dir, "data")],
      [["admin", "local_socket"], join(dir, "admin.sock")],
    ]);
    await replaceIn(join(dir, "deployment.yaml"), [
      [["providers", 0, "base_url"], `${url}/v1`],
      [["providers", 1, "base_url"], `${url}/v1`],
      [["providers", 2, "base_url"], url],
    ]);
    await writeTools(join(dir, "bin"));
    const readme = await readFile(join(EXAMPLE, "README.md"), "utf8");
    blocks = [...readme.matchAll(/```sh\n(.*?)```/gs)].map(([, text = ""]) => text.trimEnd().split("\n"));
  });

  /** Runs a command of the README in a shell of the folder; returns its output. */
  function ran(line: string | undefined, beginning: string): Promise<string> {
    assert.ok(line?.startsWith(beginning) === true, `the README has ${line} where ${beginning} is expected`);
    const command = line
      .replace("https://models.example.com", gateway?.url ?? "")
      .replace("/run/gateway/admin.sock", join(dir, "admin.sock"));
    const env = {
      PATH: `${join(dir, "bin")}:${process.env["PATH"]}`,
      GATEWAY_ADMIN_SOCKET: join(dir, "admin.sock"),
      ...ENV,
    };
    return new Promise((done, fail) => {
      execFile("/bin/sh", ["-c", command], { cwd: dir, env }, (error, stdout, stderr) => {
        if (error === null) done(stdout);
        else fail(new Error(`${line}\n${stdout}${stderr}`));
      });
    });
  }

  const codeOf = (answer: string): string => /"code":"(\w+)"/.exec(answer)?.[1] ?? answer;

  test("its configuration passes the check, and its rule suite passes and covers every rule", async () => {
    const [check, suite, ...more] = blocks[0] ?? [];
    assert.deepEqual(more, []);
    const checked = await ran(check, "gateway check -offline ");
    assert.match(checked, /: 3 providers, 2 profiles, 2 budgets, 3 access rules, 1 detector, 2 guardrail rules$/m);
    assert.match(
      checked,
      /accepts tokens of corp for the audience models, from users, with the profile that the claim groups selects/,
    );
    const judged = await ran(suite, "gateway -config node.yaml -test-rules ");
    assert.match(judged, /^11 cases: 11 pass, 0 fail\nall 5 rules have a case\n$/m);
  });

  test("a minted key works, and a rule denies what it should", async () => {
    gateway = await startGateway(owner, { args: ["-config", join(dir, "node.yaml")], env: ENV });
    const [exported, mint, call, ...more] = blocks[1] ?? [];
    assert.deepEqual(more, []);
    assert.equal(exported, "export GATEWAY_ADMIN_SOCKET=/run/gateway/admin.sock");
    await ran(mint, "gateway admin -d ");
    const answer = await ran(call, "curl -sS -i ");
    assert.match(answer, /^HTTP\/1\.1 200 /);
    assert.match(answer, /^x-gateway-provider: azure\r$/m);

    const [denied, find, ...others] = blocks[2] ?? [];
    assert.deepEqual(others, []);
    const refusal = await ran(denied, "curl -sS ");
    assert.equal(codeOf(refusal), "policy_denied");
    assert.match(refusal, /Preview models are not reviewed yet\./);
    const record = await ran(find, "gateway admin 'audit/recent");
    for (const word of ["no-previews", "acme-ai.4", '"web"', '"staff"']) assert.ok(record.includes(word), word);
    assert.doesNotMatch(record, /Hello/);
  });

  test("a suspended provider is failed over, and serves again when the suspension is lifted", async () => {
    const [suspend, lift, ...more] = blocks[4] ?? [];
    const call = blocks[1]?.[2]?.replace("gpt-4o", "gpt-4o-mini");
    assert.deepEqual(more, []);
    await ran(suspend, "gateway admin -d ");
    assert.match(await ran(call, "curl "), /^x-gateway-provider: openai\r$/m);
    const key = await ran(
      blocks[1]?.[1]
        ?.replace('"web","profile":"staff"', '"desk","profile":"research"')
        .replace('"team":"web"', '"data":"customer"')
        .replace("web.key", "desk.key"),
      "gateway admin ",
    );
    assert.equal(key, "");
    const desk = await ran(call?.replace("web.key", "desk.key"), "curl ");
    assert.match(desk, /^HTTP\/1\.1 503 /);
    assert.match(desk, /incident 42/);
    await ran(lift, "gateway admin DELETE ");
    assert.match(await ran(call, "curl "), /^x-gateway-provider: azure\r$/m);
  });

  test("a spent budget is reported, and the next call is refused until its window ends", async () => {
    const [query, ...more] = blocks[3] ?? [];
    assert.deepEqual(more, []);
    const call = blocks[1]?.[2];
    // A window fits at most two such calls, at any time of the hour and if another window began meanwhile.
    let answer = "";
    for (let calls = 0; calls < 5 && !answer.startsWith("HTTP/1.1 429 "); calls += 1) answer = await ran(call, "curl ");
    assert.match(answer, /^HTTP\/1\.1 429 /);
    assert.equal(codeOf(answer), "budget_exhausted");
    const wait = Number(/^retry-after: (\d+)\r$/m.exec(answer)?.[1]);
    assert.ok(wait > 0 && wait <= 3_600, `${wait}`);
    // A list of measurements changes at most once a second.
    await eventually("a row that says so", async () =>
      /^staff +\S+ +\d+ +0 +[0-4] /m.test(await ran(query, "gateway query ")),
    );
  });
});

async function replaceIn(
  path: string,
  values: readonly (readonly [path: readonly (string | number)[], value: string])[],
): Promise<void> {
  const document = parseDocument(await readFile(path, "utf8"));
  assert.ok(isMap(document.contents));
  for (const [at, value] of values) document.setIn(at, value);
  await writeFile(path, document.toString());
}

/** Writes an installed `gateway` and the part of jq that the README uses. */
async function writeTools(dir: string): Promise<void> {
  await mkdir(dir);
  const node = `exec "${process.execPath}"`;
  const key = "JSON.parse(require('fs').readFileSync(0, 'utf8')).key";
  const tools = { gateway: `${node} "${join(ROOT, "bin/gateway")}" "$@"`, jq: `${node} -p "${key}"` };
  for (const [name, text] of Object.entries(tools)) {
    await writeFile(join(dir, name), `#!/bin/sh\n${text}\n`);
    await chmod(join(dir, name), 0o700);
  }
}
