/**
 * `examples/production`, started by its own script on this machine: a team's key and a person's token are answered, a
 * rule, a guardrail and a failover act, operators use the socket and sign-in, a node is lost, and it stops cleanly.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { before, describe, test } from "node:test";
import { suiteOwner } from "./admin/support/suite.ts";
import { atEnd, eventually, within } from "./support/wait.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const START_MS = 90_000;
const END_MS = 30_000;

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

describe("production example", () => {
  const owner = suiteOwner();
  let dir: string;
  let child: ChildProcess;
  let printed = "";
  const exported = (name: string): string => new RegExp(`${name}=(\\S+)`).exec(printed)?.[1] ?? "";
  const urls = (): readonly string[] => printed.match(/https:\/\/localhost:\d+/g) ?? [];

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "gp-"));
    atEnd(owner, () => rm(dir, { recursive: true, force: true }));
    child = spawn(process.execPath, [join(ROOT, "examples/production/try/start.mjs"), join(dir, "state")], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    atEnd(owner, () => child.kill("SIGTERM"));
    let problem = "";
    child.stderr?.setEncoding("utf8").on("data", (more: string) => {
      problem += more;
    });
    const isReady = new Promise<void>((done, fail) => {
      child.stdout?.setEncoding("utf8").on("data", (more: string) => {
        printed += more;
        if (printed.includes("\nready;")) done();
      });
      child.once("exit", (code) => fail(new Error(`it ended with ${code}: ${problem}`)));
    });
    await within("the example is ready", isReady, START_MS);
  });

  function verb(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const options = {
      env: {
        PATH: process.env["PATH"],
        GATEWAY_ADMIN_SOCKET: exported("GATEWAY_ADMIN_SOCKET"),
        NODE_EXTRA_CA_CERTS: exported("NODE_EXTRA_CA_CERTS"),
        XDG_STATE_HOME: dir,
        ...env,
      },
    };
    return new Promise<{ readonly status: number; readonly text: string }>((done) => {
      execFile(join(ROOT, "bin/gateway"), args, options, (error, stdout, stderr) =>
        done({ status: error === null ? 0 : Number(error.code), text: stdout + stderr }),
      );
    });
  }

  function chat(url: string | undefined, key: string, model: string, content: string): Promise<Answer> {
    const body = JSON.stringify({ model, messages: [{ role: "user", content }] });
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    return new Promise((done, fail) => {
      request(`${url}/v1/chat/completions`, { method: "POST", headers, rejectUnauthorized: false }, async (answer) =>
        done({ status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) }),
      )
        .once("error", fail)
        .end(body);
    });
  }

  test("a team's key works on any node, and a card number does not reach the provider", async () => {
    for (const url of urls().slice(0, 3)) {
      const answer = await chat(url, exported("SEARCH_KEY"), "fast", "Bill 4111 1111 1111 1111");
      assert.equal(answer.status, 200, answer.body);
      assert.match(answer.body, /Bill <CREDIT_CARD>/);
      assert.equal(answer.headers["x-gateway-guardrails"], "cards-and-accounts=redact");
    }
  });

  test("a person's token selects a profile by its group, and a rule refuses a preview", async () => {
    const issuer = /sign in +(http:\S+)/.exec(printed)?.[1];
    const answer = await fetch(`${issuer}/try/token?user=sam`);
    const { access_token: token } = (await answer.json()) as { readonly access_token: string };
    assert.equal((await chat(urls()[1], token, "claude-haiku-4-5", "Hello")).status, 200);
    const refused = await chat(urls()[1], token, "gpt-4o", "Hello");
    assert.match(refused.body, /model_not_allowed/);
    const preview = await chat(urls()[0], exported("SEARCH_KEY"), "gpt-5-preview", "Hello");
    assert.match(preview.body, /Preview models are not reviewed yet/);
  });

  test("the rule suite passes, and each rule decided a case", async () => {
    const { status, text: found } = await verb(
      ["-config", join(dir, "state/etc/node-1.yaml"), "-test-rules", join(dir, "state/etc/rules-suite.yaml")],
      { NODE_ID: "gateway-1" },
    );
    assert.equal(status, 0, found);
    assert.match(found, /^all \d+ rules have a case$/m);
  });

  test("requests of a suspended provider go to the other one, on every node", async () => {
    const suspended = await verb(["suspend", "provider:openai", "-reason", "trying", "-for", "5m", "-yes"]);
    assert.equal(suspended.status, 0, suspended.text);
    for (const url of urls().slice(0, 3)) {
      const answer = await chat(url, exported("SEARCH_KEY"), "fast", "Hello");
      assert.equal(answer.headers["x-gateway-provider"], "azure", answer.body);
    }
    assert.equal((await verb(["lift", "provider:openai", "-yes"])).status, 0);
  });

  test("an operator signs in through the proxy, sees the status, and may not mint a key", async () => {
    const browser = join(dir, "browser");
    // Signs in as olga, an on-call operator.
    await writeFile(browser, `#!/bin/sh\nexec curl -s -L -o /dev/null "$1&user=olga"\n`);
    await chmod(browser, 0o700);
    const admin = urls().at(3) ?? "";
    const login = await verb(["login", admin], { BROWSER: browser });
    assert.equal(login.status, 0, login.text);
    const env = { GATEWAY_ADMIN_SOCKET: "", GATEWAY_ADMIN_URL: admin };
    assert.match((await verb(["admin", "whoami"], env)).text, /operator/);
    const status = await verb(["status"], env);
    assert.match(status.text, /gateway-3/);
    assert.match((await verb(["keys", "mint", "mine"], env)).text, /forbidden|not permit/);
  });

  test("the state is saved to an archive", async () => {
    const { status, text: found } = await verb(["snapshot", "save", "-stale", join(dir, "backup.tar.gz")]);
    assert.equal(status, 0, found);
  });

  test("a node is lost, and the others answer and accept changes", async () => {
    const pid = Number(/gateway-3 (\d+)/.exec(printed)?.[1]);
    process.kill(pid, "SIGKILL");
    const [first, second] = urls();
    await eventually("the cluster takes a change", async () => {
      const { status } = await verb(["keys", "mint", "another", "-profile", "search"]);
      return status === 0;
    });
    for (const url of [first, second])
      assert.equal((await chat(url, exported("SEARCH_KEY"), "fast", "Hello")).status, 200);
    assert.match((await verb(["status"])).text, /gateway-3 .*silent/);
  });

  test("it stops cleanly", async () => {
    const ended = new Promise((done) => child.once("exit", done));
    child.kill("SIGINT");
    assert.equal(await within("the example ends", ended, END_MS), 0);
  });
});
