/**
 * The verbs of an incident against a real three-node cluster: output before and after each, and its effect on every
 * node. The verbs run as from the command line; the key is minted by a separate process, as a script would.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { bufferIo } from "../../cli/buffer-io.ts";
import { createNodes, led } from "../config/support/nodes.ts";
import { PROVIDER_KEY, say, simProvider } from "../governance/support/governed.ts";
import { runProgram } from "../support/gateway.ts";
import { simulated } from "../support/simulated.ts";
import { eventually } from "../support/wait.ts";
import { suiteOwner } from "./support/suite.ts";

describe("runbook on three nodes", async () => {
  const owner = suiteOwner();
  const simulator = await simulated(owner, { requireKey: PROVIDER_KEY });
  const nodes = await createNodes(owner, { ids: ["n1", "n2", "n3"] });
  const started = nodes.map((node) => node.launch());
  await Promise.all(nodes.map((node) => led(node)));
  const [first, second] = nodes;
  assert.ok(first && second && started[0]);

  /** Runs a verb on the socket of a node, by default the first. */
  const verb = async (args: readonly string[], { at = first, input = "" } = {}) => {
    const io = bufferIo({
      env: { GATEWAY_ADMIN_SOCKET: join(at.dir, "admin.sock") },
      cwd: first.dir,
      stdin: Readable.from([Buffer.from(input)]),
      now: () => Date.now(),
    });
    const status = await execute(args, io);
    return { status, out: io.out(), err: io.err() };
  };
  const good = async (args: readonly string[], more: Parameters<typeof verb>[1] = {}) => {
    const { status, out, err } = await verb(args, more);
    assert.equal(status, 0, `${args.join(" ")}\n${out}${err}`);
    return { out, err };
  };

  const document = (limit: number) =>
    JSON.stringify({
      auth: { virtual_keys: true },
      providers: [
        { ...simProvider("one", simulator), models: ["sim-*"], failover: { to: ["two"] } },
        { ...simProvider("two", simulator), models: ["other-*"] },
      ],
      budgets: [{ name: "day", limit, window: "day" }],
      profiles: [{ name: "team", budget: "day" }],
      access_rules: [
        { name: "no-previews", at: ["llm"], condition: 'model.endsWith("-preview")', action: "deny", message: "no" },
      ],
    });

  test("a node without a configuration fails `status`; once one is applied, it serves", async () => {
    const before = await verb(["status"]);
    assert.equal(before.status, 1);
    assert.match(before.out, /it cannot serve: no deployment document is in force/);
    await writeFile(join(first.dir, "new.json"), document(100_000));
    const different = await verb(["config", "diff", "new.json"]);
    assert.equal(different.status, 1);
    assert.match(different.out, /added {3}budgets\.day/);
    assert.doesNotMatch(different.out, /Last hour/); // no configuration is active
    const asked = await verb(["config", "apply", "new.json"]);
    assert.equal(asked.status, 2);
    assert.match(asked.err, /: add -yes/);
    const dry = await good(["config", "apply", "-dry-run", "new.json"]);
    assert.match(dry.out, /nothing is written yet/);
    assert.match((await good(["config", "show"])).err, /No configuration source yet/);
    const { err } = await good(["config", "apply", "new.json", "-yes"]);
    assert.match(err, /default: revision 1 in force/);
    assert.match(err, /In force on all 3 nodes at raft index \d+\./);
    for (const at of nodes) await good(["wait", "ready", "leader", "applied", "-timeout", "30s"], { at });
    assert.match((await good(["status"])).out, /n1 answered: it serves; leader n\d/);
    assert.equal((await verb(["config", "diff", "new.json"])).status, 0);
  });

  // The built console has its own copy of what it shares with the verbs, so only the built program shows whether they agree.
  test("a refused document is printed with all its problems and their lines", async () => {
    const env = { GATEWAY_ADMIN_SOCKET: join(first.dir, "admin.sock") };
    const input = "providers:\n  - { name: one, dialect: none }\n  - { name: two, dialect: none }\n";
    for (const [args, output] of [
      [["config", "diff", "-"], "stdout"],
      [["config", "apply", "-", "-yes"], "stderr"],
    ] as const) {
      const tried = runProgram(owner, { args, env, input });
      assert.deepEqual(await tried.ended, { status: 1, signal: null }, tried.stderr());
      assert.match(
        tried[output](),
        /^! default 2:\d+ {2}providers\[0\]\S* .*\n(?:.*\n)*! default 3:\d+ {2}providers\[1\]/m,
      );
    }
    assert.equal((await first.client.call("get_source", { params: { name: "default" } })).revision, 1);
  });

  test("keys are minted onto stdout alone, found by a leaked text, rotated and revoked", async () => {
    const env = { GATEWAY_ADMIN_SOCKET: join(first.dir, "admin.sock") };
    const args = ["keys", "mint", "ci", "-profile", "team", "-expires", "720h", "-metadata", "team=a, b"];
    const minted = runProgram(owner, { args, env });
    assert.deepEqual(await minted.ended, { status: 0, signal: null }, minted.stderr());
    assert.match(minted.stdout(), /^gwk_[0-9A-Za-z]{8}_[A-Za-z0-9_-]{49}\n$/);
    const key = minted.stdout().trim();
    assert.ok(!minted.stderr().includes(key));
    const { items } = await first.client.call("list_keys");
    assert.deepEqual(
      items.map(({ name, profile, metadata }) => ({ name, profile, metadata })),
      [{ name: "ci", profile: "team", metadata: { team: "a, b" } }],
    );
    const leaked = await good(["keys", "find"], { at: second, input: `export KEY="${key}"\n` });
    assert.match(leaked.out, /^name: +ci$/m);
    assert.match(leaked.err, /gateway keys revoke ci/);
    assert.equal((await verb(["keys", "find", "no key here"])).status, 1);
    const rotated = await good(["keys", "rotate", "ci", "-yes"]);
    assert.match(rotated.out, /^gwk_\S+\n$/);
    assert.notEqual(rotated.out.trim(), key);
    assert.match((await verb(["keys", "revoke", "cii", "-yes"])).err, /there is no key 'cii' \(did you mean 'ci'\?\)/);
    await good(["keys", "revoke", "cii", "-yes", "-if-exists"]);
    await good(["keys", "revoke", "ci", "-yes"], { at: second });
    assert.deepEqual((await first.client.call("list_keys")).items, []);
  });

  test("a suspension of a provider shows where its traffic will go, is listed, acknowledged and lifted", async () => {
    const wrong = await verb(["suspend", "provider:onee", "-reason", "x", "-yes"]);
    assert.equal(wrong.status, 1);
    assert.match(wrong.err, /there is no provider 'onee' \(did you mean 'one'\?\)/);
    for (const [text, why] of [
      ["one", /write KIND:NAME/],
      ["providr:one", /did you mean 'provider'/],
      ["provider:", /no name after the colon/],
    ] as const) {
      const { status, err } = await verb(["suspend", text, "-reason", "x"]);
      assert.equal(status, 2);
      assert.match(err, why);
    }
    const { err } = await good(["suspend", "provider:one", "-reason", "incident 42", "-for", "15m", "-yes"]);
    assert.match(err, /its models go to: two/);
    assert.match(err, /models left with no provider: 0/);
    assert.match(err, /In force on all 3 nodes/);
    assert.equal((await verb(["suspend", "provider:one", "-reason", "again", "-yes"])).status, 1);
    assert.match((await good(["status"], { at: second })).out, /suspension:provider:one .*incident 42/);
    await good(["ack", "suspension:provider:one", "-reason", "known", "-for", "4h"]);
    assert.match((await good(["status"], { at: second })).out, /No alerts\.\n1 acknowledged/);
    assert.match((await verb(["ack", "nothing", "-reason", "x", "-for", "1h"])).err, /no alert 'nothing'/);
    await good(["unack", "suspension:provider:one"]);
    assert.match((await good(["get", "suspensions", "-o", "name"], { at: second })).out, /^provider:one\n$/);
    await good(["lift", "provider:one", "-yes"]);
    assert.equal((await verb(["lift", "provider:one", "-yes"])).status, 1);
    await good(["lift", "provider:one", "-yes", "-if-exists"]);
  });

  test("a refused request is explained from another node, with its rule and its audit record", async () => {
    const key = (await good(["keys", "mint", "app"])).out.trim();
    const { listen } = await started[0]!.logged("ready");
    const refused = await say({ url: `http://${listen}` }, { key, body: { model: "sim-preview", messages: [] } });
    assert.equal(refused.code, "policy_denied");
    const id = refused.headers.get("x-gateway-request-id") ?? "";
    const { out } = await eventually("the audit record of the refusal", async () => {
      const result = await good(["explain", id], { at: second });
      return result.out.includes("access.decision") ? result : undefined;
    });
    assert.match(out, /^Caller +app$/m);
    assert.match(out, /^Answer +403 policy_denied$/m);
    assert.match(out, /^Decided by +.*no-previews/m);
    const unknown = await verb(["explain", "never-sent"]);
    assert.equal(unknown.status, 1);
    assert.match(unknown.err, /no node knows the request 'never-sent'/);
  });

  test("a secret is sealed from stdin and deleted; its value is in no output", async () => {
    const put = await good(["secrets", "put", "UPSTREAM_KEY"], { input: "canary-value\n" });
    const listed = await good(["secrets", "list"], { at: second });
    assert.match(listed.out, /UPSTREAM_KEY +1/);
    const deleted = await good(["secrets", "delete", "UPSTREAM_KEY", "-yes"]);
    assert.match(deleted.err, /No source names it/);
    for (const { out, err } of [put, listed, deleted]) assert.doesNotMatch(out + err, /canary-value/);
    assert.equal((await verb(["secrets", "delete", "UPSTREAM_KEY", "-yes"])).status, 1);
    assert.equal((await verb(["secrets", "put", "EMPTY"], { input: "\n" })).status, 2);
  });

  test("a budget is raised and rolled back; an invalid document is refused with the line", async () => {
    await writeFile(join(first.dir, "new.json"), document(200_000));
    await good(["config", "apply", "new.json", "-yes"]);
    const sources = await good(["config", "show"]);
    assert.match(sources.out, /^default +2 /m);
    assert.match(sources.err, /'gateway config show default' prints the document/);
    assert.match((await good(["config", "history"], { at: second })).out, /^ +2 .*\n +1 /m);
    const back = await good(["config", "rollback", "1", "-yes"]);
    assert.match(back.err, /limit: 200000 -> 100000/);
    await writeFile(join(first.dir, "bad.yaml"), "profiles:\n  - {name: x, budget: nope}\n");
    const bad = await verb(["config", "apply", "bad.yaml", "-yes"]);
    assert.equal(bad.status, 1);
    assert.match(bad.err, /Refused\. Nothing was written\./);
    assert.match(bad.err, /default 2:\d+ .*this names no budget/);
    assert.equal((await verb(["config", "rollback", "99", "-yes"])).status, 1);
  });

  test("lists are filtered, sorted and printed in each format", async () => {
    const names = (await good(["get", "providers", "-sort", "-name", "-o", "name"])).out;
    assert.equal(names, "two\none\n");
    const row = (await good(["get", "provider", "one"])).out;
    assert.match(row, /^dialect: +compat$/m);
    assert.deepEqual(JSON.parse((await good(["get", "keys", "-o", "json", "-columns", "name,status"])).out), [
      { name: "app", status: "active" },
    ]);
    assert.equal((await good(["get", "keys", "-o", "csv", "-columns", "name"])).out, "name\r\napp\r\n");
    assert.match((await good(["get", "keys", "-o", "yaml", "-where", "name=app"])).out, /^- id: /);
    assert.match((await good(["get", "keys", "-where", "status!=active"])).err, /No rows in keys that match/);
    const nodesOf = (await good(["get", "members", "-nodes", "all", "-o", "json", "-columns", "node"])).out;
    assert.equal(new Set((JSON.parse(nodesOf) as { node: string }[]).map(({ node }) => node)).size, 3);
    assert.equal((await verb(["get", "keys", "-nodes", "all"])).status, 2);
    assert.equal((await verb(["get", "keys", "nobody"])).status, 1);
    assert.equal((await verb(["get", "kees"])).status, 2);
  });

  test("a watched list prints changes as they happen", async () => {
    const stop = new AbortController();
    const env = { GATEWAY_ADMIN_SOCKET: join(second.dir, "admin.sock") };
    const io = bufferIo({ env, cwd: first.dir, now: () => Date.now(), signal: stop.signal });
    const watching = execute(["get", "keys", "-watch", "-o", "json", "-columns", "name,profile"], io);
    await eventually("the first rows", () => io.out().includes('"app"') || undefined);
    await good(["keys", "mint", "later", "-profile", "team"]);
    await eventually("the new row", () => io.out().includes('{"name":"later","profile":"team"}\n') || undefined);
    stop.abort();
    assert.equal(await watching, 130);
  });

  test("a change whose answer is lost is reported as possibly in force, with the verb that shows it", async () => {
    const path = join(first.dir, "cut.sock");
    // Passes everything through, and breaks the connection off at the answer to a write.
    const proxy = createServer((client) => {
      const server = connect(join(first.dir, "admin.sock"));
      let isWrite = false;
      const close = (): void => void [client.destroy(), server.destroy()];
      client.on("error", close).on("close", close);
      server.on("error", close).on("close", close);
      client.on("data", (bytes) => {
        isWrite ||= /^(?:POST|PUT|DELETE) (?!\S*dry_run)/.test(bytes.toString());
        server.write(bytes);
      });
      server.on("data", (bytes) => (isWrite ? close() : client.write(bytes)));
    });
    proxy.listen(path);
    owner.after(() => void proxy.close());
    const revision = async () => (await first.client.call("get_source", { params: { name: "default" } })).revision;
    const before = await revision();
    await writeFile(join(first.dir, "next.json"), document(100_001));
    const env = { GATEWAY_ADMIN_SOCKET: path };
    const args = ["config", "apply", join(first.dir, "next.json"), "-yes"];
    const cut = runProgram(owner, { args, env });
    assert.deepEqual(await cut.ended, { status: 3, signal: null }, cut.stderr());
    assert.match(cut.stderr(), /the change, which may be in force: 'gateway config history' shows whether it is\n/);
    assert.equal(await revision(), before + 1);
    const minting = runProgram(owner, { args: ["keys", "mint", "cut", "-profile", "team"], env });
    assert.deepEqual(await minting.ended, { status: 3, signal: null }, minting.stderr());
    assert.match(minting.stderr(), /'gateway get keys' shows whether it is\n/);
    await good(["keys", "revoke", "cut", "-yes"]);
  });

  test("when one of three nodes is killed, the status of another names it", async () => {
    const third = nodes[2];
    assert.ok(third);
    await good(["wait", "quiet"]);
    third.program.signal("SIGKILL");
    await third.program.ended;
    const { out } = await eventually(
      "the alert",
      async () => {
        const { status, out } = await verb(["status"]);
        return status === 1 && /member:n3/.test(out) ? { out } : undefined;
      },
      30_000,
    );
    assert.match(out, /2 of 3 voters reachable/);
    const unreachable = await verb(["wait", "ready", "-timeout", "1s"], { at: third });
    assert.equal(unreachable.status, 3);
  });
});
