/**
 * Runs `examples/admin` as it is printed: its files, with addresses and paths of this machine in place of the
 * company's, and the commands of its README line by line.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isMap, parseDocument } from "yaml";
import { childArgs } from "../../support/child-program.ts";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { type OidcServer, startOidc } from "../support/oidc.ts";
import { atEnd, eventually } from "../support/wait.ts";
import { suiteOwner } from "./support/suite.ts";

const ROOT = resolve(fileURLToPath(new URL("../../..", import.meta.url)));
const EXAMPLE = join(ROOT, "examples/admin");

interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe("admin plane example", () => {
  const owner = suiteOwner();
  let dir: string;
  let provider: OidcServer;
  let gateway: Gateway;
  let url: string;
  let blocks: readonly (readonly string[])[];

  before(async () => {
    provider = await startOidc(owner, {
      clients: [{ id: "gateway-admin" }],
      users: { alice: { groups: ["platform-oncall", "another-group"], preferred_username: "alice.a" } },
      refreshTokens: "offline_access",
    });
    dir = await mkdtemp(join(tmpdir(), "gateway-example-"));
    atEnd(owner, () => rm(dir, { recursive: true, force: true }));
    await cp(EXAMPLE, dir, { recursive: true });
    await writeNodeFile(dir, provider.issuer);
    await writeTools(join(dir, "bin"));
    const readme = await readFile(join(EXAMPLE, "README.md"), "utf8");
    blocks = [...readme.matchAll(/```sh\n([^`]*)```/g)].map(([, text = ""]) => text.trimEnd().split("\n"));
  });

  /** Runs a command of the README, with its address replaced, in a shell of the folder. */
  function sh(line: string, env: Readonly<Record<string, string>>): Promise<Ran> {
    const command = line.replace("https://gateway-admin.example.com", url ?? "");
    const options = {
      cwd: dir,
      env: {
        PATH: `${join(dir, "bin")}:${process.env["PATH"]}`,
        XDG_STATE_HOME: dir,
        BROWSER: join(dir, "bin/browser"),
        GATEWAY_CLUSTER_SECRET: "a-secret-that-is-long-enough-for-tests",
        OPENAI_API_KEY: "k",
        ANTHROPIC_API_KEY: "k",
        ...env,
      },
    };
    return new Promise((done) => {
      execFile("/bin/sh", ["-c", command], options, (error, stdout, stderr) => {
        done({ status: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    });
  }

  async function ran(line: string | undefined, beginning: string, env: Readonly<Record<string, string>> = {}) {
    assert.ok(line?.startsWith(beginning) === true, `the README has ${line} where ${beginning} is expected`);
    const outcome = await sh(line, env);
    assert.equal(outcome.status, 0, `${line}\n${outcome.stdout}${outcome.stderr}`);
    return outcome;
  }

  test("its configuration passes the check, which names the issuer, the policy and the listeners", async () => {
    const { stdout } = await ran(
      `${blocks[0]?.[0]?.replace("check ", "check -offline ")}`,
      "gateway check -offline -config",
    );
    assert.match(stdout, /^ok {4}configuration: /m);
    assert.match(stdout, /admin\.cedar/);
    const asked = await sh(blocks[0]?.[0] ?? "", {});
    assert.match(asked.stdout, /^ok {4}issuer corp/m, asked.stdout);
  });

  test("an on-call operator signs in, looks around, suspends a provider and signs out", async () => {
    gateway = await startGateway(owner, {
      args: ["-config", join(dir, "node.yaml")],
      env: {
        GATEWAY_CLUSTER_SECRET: "a-secret-that-is-long-enough-for-tests",
        OPENAI_API_KEY: "k",
        ANTHROPIC_API_KEY: "k",
      },
    });
    const ready = await gateway.logged("ready");
    url = `http://${ready["admin"]}`;
    assert.deepEqual(
      gateway.log().filter(({ message }) => message === "admin policy"),
      [],
    );
    const [, exported = "", login, query, suspend, logout, ...more] = blocks[0] ?? [];
    assert.deepEqual(more, []);
    const env = { GATEWAY_ADMIN_URL: url };
    assert.equal(exported, "export GATEWAY_ADMIN_URL=https://gateway-admin.example.com");
    const signedIn = await ran(login, "gateway login ", env);
    assert.match(signedIn.stderr, /as alice\.a \(subject alice, roles operator\)/);
    assert.match(signedIn.stderr, /it is renewed as long as/, "offline_access gives a refresh token");
    const { stdout } = await ran(query, "gateway query ", env);
    assert.deepEqual(
      stdout.split("\n").map((line) => line.split(/\s+/)[0]),
      ["name", "openai", "anthropic", ""],
    );
    const suspended = await ran(suspend, "gateway admin -d ", env);
    assert.match(suspended.stdout, /"reason":"incident 42"/);
    const denied = await sh('gateway admin -d \'{"name":"k"}\' POST keys', env);
    assert.equal(denied.status, 1);
    assert.match(denied.stdout, /create_key on Table::/);
    await ran(logout, "gateway logout", env);
    assert.equal((await sh(query ?? "", env)).status, 1);
  });

  test("the trail verifies against the heads of the cluster, as described in the README", async () => {
    const [heads, verify, ...more] = blocks[1] ?? [];
    assert.deepEqual(more, []);
    const env = { GATEWAY_ADMIN_SOCKET: join(dir, "admin.sock") };
    await eventually("a witnessed head", async () => {
      await ran(heads, "gateway admin audit_heads ", env);
      return (await readFile(join(dir, "heads.json"), "utf8")).includes('"seq"');
    });
    await writeFile(join(dir, "gateway.stderr.log"), gateway.stderr());
    const { stdout } = await ran(verify, "gateway audit verify ", env);
    assert.match(stdout, /^ok {3}n1 /m);
    assert.match(stdout, /: verified$/m);
  });
});

/** Writes the printed node file with the company's machines replaced. */
async function writeNodeFile(dir: string, issuer: string): Promise<void> {
  const document = parseDocument(await readFile(join(EXAMPLE, "node.yaml"), "utf8"));
  const replaced: readonly (readonly [path: readonly (string | number)[], value: string])[] = [
    [["listen"], "127.0.0.1:0"],
    [["metrics_listen"], "127.0.0.1:0"],
    [["cluster", "data_dir"], join(dir, "data")],
    [["issuers", 0, "url"], issuer],
    [["admin", "local_socket"], join(dir, "admin.sock")],
    [["admin", "listen"], "127.0.0.1:0"],
    [["audit", "dir"], join(dir, "audit")],
  ];
  assert.ok(isMap(document.contents));
  for (const [path, value] of replaced) {
    assert.ok(document.hasIn(path), `the example has no ${path.join(".")}`);
    document.setIn(path, value);
  }
  await writeFile(join(dir, "node.yaml"), document.toString());
}

/** Writes an installed `gateway`, a browser in which alice signs in, and the part of jq that the README uses. */
async function writeTools(dir: string): Promise<void> {
  await mkdir(dir);
  const node = `exec "${process.execPath}"`;
  const items = "JSON.stringify(JSON.parse(require('fs').readFileSync(0, 'utf8')).items)";
  const tools = {
    gateway: `${node} "${join(ROOT, "bin/gateway")}" "$@"`,
    browser: `${node} ${childArgs("../../cli/sign-in/headless-browser.ts", import.meta.url)
      .map((arg) => `"${arg}"`)
      .join(" ")} "$@"`,
    jq: `${node} -p "${items}"`,
  };
  for (const [name, text] of Object.entries(tools)) {
    await writeFile(join(dir, name), `#!/bin/sh\n${text}\n`);
    await chmod(join(dir, name), 0o700);
  }
}
