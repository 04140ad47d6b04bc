/**
 * A deployment configured by a file, on one node: the file becomes the source `default` by the table of specification
 * document 1 (States and transitions), at a start and by `POST /reload`; `file_status` says its state and the remedy.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, test } from "node:test";
import { within } from "../support/wait.ts";
import {
  createOne,
  fileStatus,
  logged,
  named,
  one,
  problemsOf,
  provider,
  refusalOf,
  SLOW_MS,
  served,
} from "./support/nodes.ts";

const defaultAt = (revision: number) => [["default", revision, "file", "running"]];

describe("deployment configured by a file", { concurrency: 2 }, () => {
  test("the first start loads it; an edit without a version waits through a restart and is applied by a reload", async (t) => {
    const [first, second] = await Promise.all([named(t, "first"), named(t, "second")]);
    const node = await createOne(t, { deployment: one(first) });
    const sources = async () =>
      (await node.client.call("list_sources")).items.map(({ name, revision, writer, state }) => [
        name,
        revision,
        writer,
        state,
      ]);
    assert.equal(await served(t, await node.start()), "first");
    assert.deepEqual(await sources(), defaultAt(1));
    const { source, sources: composed, file_status } = await node.client.call("get_config");
    assert.deepEqual([source, composed], [join(node.dir, "deployment.yaml"), [{ name: "default", revision: 1 }]]);
    assert.deepEqual([file_status.state, file_status.remedy], ["in_sync", ""]);
    await node.stop();

    await node.writeDeployment(one(second));
    const restarted = await node.start();
    assert.equal(await served(t, restarted), "first");
    await logged(
      restarted,
      "the deployment document on disk waits for a reload; what the cluster stores keeps serving",
    );
    const waiting = await fileStatus(node);
    assert.equal(waiting.state, "no_version");
    assert.match(waiting.remedy, /gateway config reload.*`version`/);

    const tried = await node.client.call("reload_config", { query: { dry_run: true } });
    assert.deepEqual([tried.applied, tried.revision], [false, 1]);
    assert.ok(tried.differences?.some(({ path, kind }) => path.startsWith("providers.") && kind !== "added"));
    assert.equal(await served(t, restarted), "first");
    assert.deepEqual(await sources(), defaultAt(1));

    const reloaded = await node.client.call("reload_config");
    assert.deepEqual([reloaded.applied, reloaded.revision, reloaded.file_status.state], [true, 2, "in_sync"]);
    assert.equal(await served(t, restarted), "second");
    assert.deepEqual(await sources(), defaultAt(2));
    const again = await node.client.call("reload_config");
    assert.deepEqual([again.applied, again.revision], [false, 2]);
  });

  test("at startup a higher version is applied; an equal one with other content and a lower one are not", async (t) => {
    const [first, second] = await Promise.all([named(t, "first"), named(t, "second")]);
    const node = await createOne(t, { deployment: one(first, 2) });
    await node.start();
    const cases = [
      { document: one(second, 3), from: "second", state: "in_sync", remedy: /^$/ },
      { document: one(first, 3), from: "second", state: "diverged", remedy: /raise `version`/ },
      { document: one(first, 1), from: "second", state: "behind", remedy: /above 3/ },
      { document: one(first, 4), from: "first", state: "in_sync", remedy: /^$/ },
    ];
    for (const { document, from, state, remedy } of cases) {
      await node.stop();
      await node.writeDeployment(document);
      const gateway = await node.start();
      // The stored configuration serves at once, and the document is read afterwards.
      const message = state === "in_sync" ? "is stored" : "is not applied; what the cluster stores keeps serving";
      await logged(gateway, `the deployment document on disk ${message}`);
      await node.client.call("list_sources", { query: { consistent: true } });
      assert.equal(await served(t, gateway), from);
      const status = await fileStatus(node);
      assert.equal(status.state, state);
      assert.match(status.remedy, remedy);
    }
  });

  test("after an edit without a version, the highest applied version counts: SIGHUP, reload, restart, restored archive", async (t) => {
    const [first, second] = await Promise.all([named(t, "first"), named(t, "second")]);
    const node = await createOne(t, { deployment: one(first, 5) });
    let gateway = await node.start();
    await node.writeDeployment(one(second));
    assert.equal((await node.client.call("reload_config")).applied, true);
    assert.equal(await served(t, gateway), "second");
    const archive: Uint8Array[] = [];
    for await (const part of await node.client.call("save_snapshot")) archive.push(part);

    const hangUp = async (): Promise<void> => {
      const from = gateway.log().length;
      gateway.signal("SIGHUP");
      await logged(gateway, "reloaded", from);
    };
    const restart = async (): Promise<void> => {
      await node.stop();
      gateway = await node.start();
      await logged(gateway, "the deployment document on disk is not applied; what the cluster stores keeps serving");
    };
    const reload = async (): Promise<void> => {
      assert.match(
        problemsOf(await refusalOf(node.client.call("reload_config")))[0]?.message ?? "",
        /not above version 5/,
      );
    };
    const restore = async (): Promise<void> => {
      await node.client.call("restore_snapshot", { body: Readable.from(archive) });
      await hangUp();
    };
    for (const [version, state] of [
      [4, "behind"],
      [5, "diverged"],
    ] as const) {
      await node.writeDeployment(one(first, version));
      for (const step of [hangUp, reload, restart, restore]) {
        await step();
        assert.deepEqual([(await fileStatus(node)).state, await served(t, gateway)], [state, "second"], step.name);
      }
    }
    await node.writeDeployment(one(first, 6));
    await hangUp();
    assert.equal((await fileStatus(node)).state, "in_sync");
    assert.equal(await served(t, gateway), "first");
  });

  test("POST /reload refuses an old, reused, invalid or missing version with 422 and says where", async (t) => {
    const [first, second] = await Promise.all([named(t, "first"), named(t, "second")]);
    const node = await createOne(t, { deployment: one(first, 5) });
    const gateway = await node.start();
    const reload = async () => {
      const refusal = await refusalOf(node.client.call("reload_config"));
      assert.deepEqual([refusal.status, refusal.code], [422, "refused"]);
      return problemsOf(refusal);
    };

    await node.writeDeployment(one(second, 5));
    assert.match((await reload())[0]?.message ?? "", /^version 5 is stored with different content/);
    await node.writeDeployment(one(second, 4));
    assert.match((await reload())[0]?.message ?? "", /^version 4 is lower than the stored version 5/);
    assert.equal((await fileStatus(node)).state, "behind");

    await node.writeDeployment("version: 6\nhue: red\nproviders:\n  - { name: one }\n");
    const broken = await reload();
    assert.deepEqual(broken.map(({ source, path, line }) => [source, path.split(".")[0], line]).slice(0, 2), [
      ["default", "hue", 2],
      ["default", "providers[0]", 4],
    ]);
    const status = await fileStatus(node);
    assert.equal(status.state, "refused");
    assert.match(status.message, /^the file would be refused: .*deployment\.yaml:2:1: hue/);

    await node.writeNode({ deployment: "absent.yaml" });
    const from = gateway.log().length;
    gateway.signal("SIGHUP");
    await logged(gateway, "reloaded", from);
    assert.match((await reload())[0]?.message ?? "", /absent\.yaml: no such file/);
    assert.equal(await served(t, gateway), "first");
  });

  test("a document that is invalid at a restart leaves the stored one in force, and the error gives its place", async (t) => {
    const [first, second] = await Promise.all([named(t, "first"), named(t, "second")]);
    const node = await createOne(t, { deployment: one(first, 1) });
    await node.start();
    await node.stop();
    await node.writeDeployment("version: 2\nproviders: [\n");
    const gateway = await node.start();
    assert.equal(await served(t, gateway), "first");
    const line = await logged(gateway, "configuration refused");
    assert.match(String(line["problem"]), /deployment\.yaml:\d+:\d+: /);
    assert.equal((await fileStatus(node)).state, "refused");
    await node.writeDeployment(one(second, 2));
    assert.equal((await fileStatus(node)).state, "diverged");
    await node.client.call("reload_config");
    assert.equal(await served(t, gateway), "second");
  });

  test("a stored document that needs an unset variable ends the start with 10, unless the file has moved on", async (t) => {
    const upstream = await named(t, "upstream");
    const needing: object = { version: 1, providers: [provider("one", "${UPSTREAM}")] };
    const node = await createOne(t, { deployment: { ...needing } });
    assert.equal(await served(t, await node.start({ UPSTREAM: upstream.url })), "upstream");
    await node.stop();

    const { status } = await within("the end", node.launch().ended, SLOW_MS);
    assert.equal(status, 10);
    assert.match(node.program.stderr(), /default:1:\d+: providers\[0\]\.base_url: .*UPSTREAM/);

    await node.writeDeployment(one(upstream, 2));
    assert.equal(await served(t, await node.start()), "upstream");
    assert.equal((await fileStatus(node)).state, "in_sync");
  });

  test("the file is the single writer: the three write operations answer 409 and name `deployment`", async (t) => {
    const upstream = await named(t, "upstream");
    const node = await createOne(t, { deployment: one(upstream) });
    await node.start();
    const params = { name: "default" };
    for (const call of [
      () => node.client.call("put_source", { params, body: "{}" }),
      () => node.client.call("put_source", { params: { name: "other" }, body: "{}", query: { dry_run: true } }),
      () => node.client.call("delete_source", { params }),
      () => node.client.call("rollback_source", { params, body: { revision: 1 } }),
      () => node.client.call("rollback_source", { params, body: { revision: 1 }, query: { dry_run: true } }),
    ]) {
      const refusal = await refusalOf(call());
      assert.deepEqual([refusal.status, refusal.code], [409, "conflict"]);
      assert.match(refusal.message, /`deployment` of the node file/);
    }
    const { document } = await node.client.call("get_source", { params });
    assert.deepEqual(JSON.parse(document), one(upstream));
  });

  test("a dry run shows what an edited copy of the file would change, and why a broken one would be refused", async (t) => {
    const [first, second] = await Promise.all([named(t, "first"), named(t, "second")]);
    const node = await createOne(t, { deployment: one(first) });
    await node.start();
    const tryDocument = (document: unknown) =>
      node.client.call("put_source", {
        params: { name: "default" },
        query: { dry_run: true },
        body: JSON.stringify(document),
      });
    assert.deepEqual(await tryDocument(one(first)).then(({ changed, revision }) => [changed, revision]), [false, 1]);
    const edited = await tryDocument(one(second));
    assert.equal(edited.changed, true);
    assert.ok(edited.differences.some(({ path }) => path.startsWith("providers.")));
    const refusal = await refusalOf(tryDocument({ ...one(second), default_provider: "on" }));
    assert.deepEqual([refusal.status, refusal.code], [422, "refused"]);
    assert.match(refusal.message, /^The document is refused: default_provider: .*; did you mean ".+"\?$/);
    const { items } = await node.client.call("list_sources");
    assert.deepEqual(
      items.map(({ name, revision, writer, state }) => [name, revision, writer, state]),
      defaultAt(1),
    );
  });

  test("an unusable key file or previous secret ends the start with 10 before anything is created", async (t) => {
    const node = await createOne(t, { deployment: "{}" });
    await writeFile(join(node.dir, "kek"), "short");
    await node.writeNode({}, { kek_file: "kek" });
    assert.equal((await within("the end", node.launch().ended, SLOW_MS)).status, 10);
    assert.match(node.program.stderr(), /cluster\.kek_file: .*holds 5 bytes|is readable or writable for every user/);
    await node.writeNode({});
    const former = node.launch({ GATEWAY_CLUSTER_SECRET_PREVIOUS: "short" });
    assert.equal((await within("the end", former.ended, SLOW_MS)).status, 10);
    assert.match(former.stderr(), /^GATEWAY_CLUSTER_SECRET_PREVIOUS: has fewer than 16 characters/m);
    assert.ok(!existsSync(node.dataDir));
  });
});
