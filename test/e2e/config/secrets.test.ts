/**
 * Sealed secrets on one node with real processes: resolution of `${secret:NAME}`, precedence, and messages for a
 * missing or unreadable one. Source: design decisions, sections 3, 6 and 8.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { runProgram } from "../support/gateway.ts";
import { eventually, within } from "../support/wait.ts";
import {
  ask,
  createOne,
  credentialAt,
  fileStatus,
  led,
  logged,
  named,
  problemsOf,
  provider,
  ready,
  refusalOf,
  SLOW_MS,
  type TestNode,
} from "./support/nodes.ts";

const using = (url: string, name: string): object => ({
  providers: [provider("one", url, { api_key: `\${secret:${name}}` })],
});

describe("sealed secrets", { concurrency: 2 }, () => {
  test("a provider uses the sealed value, and a new value without a restart; a missing one is reported by name", async (t) => {
    const upstream = await named(t, "upstream");
    const node = await createOne(t);
    const program = node.launch();
    await led(node);
    const put = () =>
      node.client.call("put_source", { params: { name: "a" }, body: JSON.stringify(using(upstream.url, "x")) });
    const missing = await refusalOf(put());
    assert.deepEqual([missing.status, missing.code], [422, "refused"]);
    assert.match(problemsOf(missing)[0]?.message ?? "", /\$\{secret:x\}.*no sealed secret "x"/);
    assert.equal(problemsOf(missing)[0]?.path, "providers[0].api_key");

    const params = { name: "x" };
    assert.equal((await node.client.call("put_secret", { params, body: { value: "sk-one" } })).version, 1);
    await put();
    const gateway = await ready(program);
    await ask(t, gateway);
    assert.equal(credentialAt(upstream), "Bearer sk-one");

    const applied = () => gateway.log().filter(({ message }) => message === "configuration applied").length;
    const before = applied();
    await node.client.call("put_secret", { params: { name: "unused" }, body: { value: "v" } });
    await node.client.call("put_secret", { params, body: { value: "sk-two" } });
    await ask(t, gateway);
    assert.equal(credentialAt(upstream), "Bearer sk-two");
    assert.equal(applied(), before + 1, "a secret that nothing refers to rebuilds nothing");

    await node.client.call("delete_secret", { params });
    const status = await eventually("the refusal", async () => {
      const it = await fileStatus(node);
      return it.state === "refused" && it;
    });
    assert.match(status.message, /keeps the previous one: a:1:\d+: providers\[0\]\.api_key: .*"x"/);
    await ask(t, gateway);
    assert.equal(credentialAt(upstream), "Bearer sk-two");
    await node.client.call("put_secret", { params, body: { value: "sk-three" } });
    await ask(t, gateway);
    assert.equal(credentialAt(upstream), "Bearer sk-three");
    assert.equal((await fileStatus(node)).state, "no_file");
  });

  test("a file in `secrets_dir` takes precedence over a sealed secret of the same name", async (t) => {
    const upstream = await named(t, "upstream");
    const node = await createOne(t, { changes: { secrets_dir: "secrets" } });
    await mkdir(join(node.dir, "secrets"));
    await writeFile(join(node.dir, "secrets", "x"), "of-the-file\n");
    const program = node.launch();
    await led(node);
    await node.client.call("put_secret", { params: { name: "x" }, body: { value: "sealed" } });
    await node.client.call("put_source", { params: { name: "a" }, body: JSON.stringify(using(upstream.url, "x")) });
    await ask(t, await ready(program));
    assert.equal(credentialAt(upstream), "Bearer of-the-file");
  });

  test("with `kek_file`, a node without the file serves nothing sealed and says what is missing; with it, it serves", async (t) => {
    const upstream = await named(t, "upstream");
    const node = await createOne(t);
    await writeFile(join(node.dir, "kek"), randomBytes(32), { mode: 0o600 });
    await node.writeNode({}, { kek_file: "kek" });
    const program = node.launch();
    await led(node);
    const { kek } = await node.client.call("put_secret", { params: { name: "x" }, body: { value: "sk-kek" } });
    assert.match(kek, /^b:/);
    await node.client.call("put_source", { params: { name: "a" }, body: JSON.stringify(using(upstream.url, "x")) });
    await ready(program);
    await node.stop();

    await node.writeNode({});
    const without = node.launch();
    await logged(without, "nothing is served until it compiles");
    await led(node);
    const status = await fileStatus(node);
    assert.equal(status.state, "refused");
    assert.match(status.message, /and serves nothing: .*cluster\.kek_file/);
    assert.equal((await node.client.call("get_status")).configuration.state, "refused");
    await node.stop();

    await node.writeNode({}, { kek_file: "kek" });
    await ask(t, await node.start());
    assert.equal(credentialAt(upstream), "Bearer sk-kek");
  });

  test("an archive of another cluster secret is restored without its secrets, which work once they are sealed again", async (t) => {
    const upstream = await named(t, "upstream");
    const from = await createOne(t);
    const source = from.launch();
    await led(from);
    for (const value of ["sk-old", "sk-one"]) {
      await from.client.call("put_secret", { params: { name: "x" }, body: { value } });
    }
    await from.client.call("put_secret", { params: { name: "spare" }, body: { value: "v" } });
    await from.client.call("put_source", { params: { name: "a" }, body: JSON.stringify(using(upstream.url, "x")) });
    await ask(t, await ready(source));
    const archive = join(from.dir, "archive");
    const verb = async (node: TestNode, ...args: readonly string[]) => {
      const program = runProgram(t, { args: [...args, "-socket", join(node.dir, "admin.sock"), archive] });
      const { status } = await within(args.join(" "), program.ended, SLOW_MS);
      return { status, stdout: program.stdout(), stderr: program.stderr() };
    };
    assert.equal((await verb(from, "snapshot", "save")).status, 0);
    await from.stop();

    const others = [{ secret: "another-secret-that-is-long-enough" }, { secret: undefined }];
    for (const cluster of others) {
      const to = await createOne(t);
      await to.writeNode({}, cluster);
      const program = to.launch();
      await led(to);
      const refused = await verb(to, "snapshot", "restore");
      assert.equal(refused.status, 1);
      assert.match(refused.stderr, /422 refused: .*nothing was changed.*-without-secrets/);
      assert.deepEqual((await to.client.call("list_sources")).items, []);

      const restored = await verb(to, "snapshot", "restore", "-without-secrets");
      assert.deepEqual([restored.status, restored.stdout], [0, "spare\nx\n"], restored.stderr);
      assert.match(restored.stderr, /Left out 2 sealed secrets/);
      assert.deepEqual((await to.client.call("list_secrets")).items, []);
      const status = await eventually("the refusal", async () => {
        const it = await fileStatus(to);
        return it.state === "refused" && it;
      });
      assert.match(status.message, /providers\[0\]\.api_key: .*\$\{secret:x\}/);
      if (cluster.secret === undefined) continue;
      await to.client.call("put_secret", { params: { name: "x" }, body: { value: "sk-again" } });
      await ask(t, await ready(program));
      assert.equal(credentialAt(upstream), "Bearer sk-again");
    }
  });

  test("a configured node whose sealed secret is missing waits for it with its admin socket open", async (t) => {
    const upstream = await named(t, "upstream");
    const node = await createOne(t, { deployment: { providers: [] } });
    await node.start();
    const params = { name: "x" };
    await node.client.call("put_secret", { params, body: { value: "sk-one" } });
    await node.writeDeployment({ ...using(upstream.url, "x") });
    assert.equal((await node.client.call("reload_config")).applied, true);
    await node.client.call("delete_secret", { params });
    await node.stop();
    const program = node.launch();
    await led(node);
    await logged(program, "nothing is served until it compiles");
    await node.client.call("put_secret", { params, body: { value: "sk-two" } }, { timeLimitMs: SLOW_MS });
    await ask(t, await ready(program));
    assert.equal(credentialAt(upstream), "Bearer sk-two");
  });

  test("a secret file that is missing at a restart is waited for and used when it appears", async (t) => {
    const upstream = await named(t, "upstream");
    const node = await createOne(t, {
      deployment: { ...using(upstream.url, "x") },
      changes: { secrets_dir: "secrets" },
    });
    const secret = join(node.dir, "secrets", "x");
    await mkdir(join(node.dir, "secrets"));
    await writeFile(secret, "sk-file\n");
    await node.start();
    await node.stop();
    await rm(secret);
    const program = node.launch();
    await logged(program, "nothing is served until it compiles");
    await writeFile(secret, "sk-later\n");
    await ask(t, await ready(program));
    assert.equal(credentialAt(upstream), "Bearer sk-later");
  });
});
