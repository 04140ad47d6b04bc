/** Process behavior around the configuration: SIGHUP during startup, `check` with a cluster, `dev`. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import { createAdminClient } from "../../../src/admin-api/index.ts";
import { runProgram } from "../support/gateway.ts";
import { freePort } from "../support/ports.ts";
import { eventually, within } from "../support/wait.ts";
import { createNodes, createOne, logged, named, one, provider, SLOW_MS } from "./support/nodes.ts";

describe("process signals and checks", { concurrency: 2 }, () => {
  test("SIGHUP during startup does not end the process, and SIGTERM then ends it cleanly", async (t) => {
    const node = await createOne(t, { deployment: "{}" });
    const addresses = { raft_addr: `127.0.0.1:${await freePort()}`, forward_addr: `127.0.0.1:${await freePort()}` };
    // No node answers there, so it waits.
    const join = [`127.0.0.1:${await freePort()}`];
    await node.writeNode({}, { ...addresses, bootstrap: undefined, join });
    const program = node.launch();
    await eventually("the data directory", () => existsSync(node.dataDir), SLOW_MS);
    program.signal("SIGHUP");
    await logged(program, "SIGHUP arrived during the start: the files are read again once the start has finished");
    program.signal("SIGTERM");
    assert.deepEqual(await within("the end", program.ended, SLOW_MS), { status: 0, signal: null });
  });

  test("a SIGHUP sent before the node serves is applied once it does", async (t) => {
    const [first, second] = await Promise.all([named(t, "first"), named(t, "second")]);
    const node = await createOne(t, { deployment: one(first) });
    await node.start();
    await node.stop();
    const program = node.launch();
    await eventually("the process", () => program.stderr().includes("raft"), SLOW_MS);
    await node.writeDeployment(one(second, 1));
    program.signal("SIGHUP");
    await logged(program, "reloaded");
    const { revision } = await node.client.call("get_source", { params: { name: "default" } });
    assert.equal(revision, 2);
  });

  test("check accepts a three-node cluster, a node without a deployment, and a secret that only the cluster has", async (t) => {
    const upstream = await named(t, "upstream");
    const check = async (nodePath: string, ...more: readonly string[]) => {
      const program = runProgram(t, { args: ["check", "-config", nodePath, ...more] });
      const { status } = await program.ended;
      return { status, stdout: program.stdout() };
    };
    const [member] = await createNodes(t, { ids: ["n1", "n2", "n3"] });
    assert.ok(member);
    const none = await check(member.nodePath);
    assert.equal(none.status, 0, none.stdout);
    assert.match(none.stdout, /^ok {4}configuration: .*0 providers$/m);
    assert.match(none.stdout, /^note {2}node: .*admin API/m);

    const sealed = await createOne(t, {
      deployment: {
        providers: [provider("open", upstream.url), provider("one", upstream.url, { api_key: "${secret:x}" })],
      },
    });
    const seen = await check(sealed.nodePath);
    assert.equal(seen.status, 0, seen.stdout);
    assert.match(seen.stdout, /^note {2}secret x: .*it must be a sealed secret of the cluster/m);
    assert.match(seen.stdout, /^note {2}provider one: not tested/m);
    assert.match(seen.stdout, /^ok {4}provider open: /m);
    assert.equal(upstream.requests.length, 1);
    assert.ok(!existsSync(sealed.dataDir));

    await sealed.writeDeployment({ hue: 1, providers: [provider("one", upstream.url, { api_key: "${secret:x}" })] });
    const broken = await check(sealed.nodePath, "-offline");
    assert.equal(broken.status, 1);
    assert.match(broken.stdout, /^fail {2}configuration: .*hue/m);
  });

  test("dev prints its admin socket, which answers, and leaves no files behind", async (t) => {
    const program = runProgram(t, { args: ["dev", "-listen", "127.0.0.1:0", "-metrics-listen", "127.0.0.1:0"] });
    await eventually("its words", () => /ready.*Ctrl-C/.test(program.stdout()), SLOW_MS);
    const [, socketPath = ""] = /^ {2}admin {6}(\S+)/m.exec(program.stdout()) ?? [];
    const [, directory = ""] = /^ {2}files {6}(\S+)/m.exec(program.stdout()) ?? [];
    assert.ok(existsSync(directory));
    const client = createAdminClient({ address: { kind: "socket", path: socketPath } });
    assert.equal((await client.call("get_status")).ready, true);
    const [source] = (await client.call("list_sources")).items;
    assert.deepEqual([source?.name, source?.state], ["default", "running"]);
    client.close();
    program.signal("SIGINT");
    assert.deepEqual(await within("the end", program.ended, SLOW_MS), { status: 0, signal: null });
    assert.ok(!existsSync(directory));
    assert.equal(program.stderr(), "");
  });
});
