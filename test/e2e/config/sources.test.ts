/**
 * A deployment written through the admin API as sources: nothing is served before the first, each write is compiled
 * with the others before it is accepted, and one that a node cannot serve is refused with its place.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { send } from "../../server/admin/support/open-admin.ts";
import { within } from "../support/wait.ts";
import {
  createOne,
  fileStatus,
  led,
  logged,
  named,
  one,
  problemsOf,
  provider,
  ready,
  refusalOf,
  SLOW_MS,
  served,
} from "./support/nodes.ts";

const text = (document: object): string => JSON.stringify(document);

describe("deployment written through the admin API", { concurrency: 2 }, () => {
  test("no data-plane listener opens before the first source, and after a restart it serves at once", async (t) => {
    const [first, second] = await Promise.all([named(t, "first"), named(t, "second")]);
    const node = await createOne(t);
    const program = node.launch();
    await led(node);
    const waiting = await node.client.call("get_status");
    assert.equal(waiting.ready, false);
    assert.deepEqual([...waiting.reasons].sort(), ["configuration", "starting"]);
    assert.ok(!waiting.listeners.some(({ name }) => name === "data"));
    assert.deepEqual(
      [(await fileStatus(node)).state, (await node.client.call("get_config")).source],
      ["no_file", "api"],
    );
    const refusal = await refusalOf(node.client.call("reload_config"));
    assert.deepEqual([refusal.status, refusal.code], [409, "conflict"]);
    assert.match(refusal.message, /names no `deployment`/);

    const params = { name: "team" };
    const put = await node.client.call("put_source", { params, body: text(one(first)), ifMatch: 0 });
    assert.deepEqual(
      [put.revision, put.changed, put.differences],
      [1, true, [{ path: "providers.one", kind: "added" }]],
    );
    const gateway = await ready(program);
    assert.equal(await served(t, gateway), "first");
    assert.equal((await node.client.call("get_status")).ready, true);

    const stale = await refusalOf(node.client.call("put_source", { params, body: text(one(second)), ifMatch: 0 }));
    assert.deepEqual([stale.status, stale.code, stale.details], [412, "stale", { revision: 1 }]);
    const change = { params, body: text(one(second)), ifMatch: 1 };
    const dry = await node.client.call("put_source", { ...change, query: { dry_run: true } });
    assert.deepEqual([dry.revision, dry.changed], [1, true]);
    assert.deepEqual(dry.differences, [{ path: "providers.one", kind: "changed", fields: ["base_url"] }]);
    assert.equal(await served(t, gateway), "first");
    // The repetition names a revision that the first one replaced.
    for (const _ of ["first", "again"]) {
      const { revision } = await node.client.call("put_source", { ...change, idempotencyKey: "k1" });
      assert.equal(revision, 2);
    }
    assert.equal(await served(t, gateway), "second");

    const back = await node.client.call("rollback_source", { params, body: { revision: 1 }, ifMatch: 2 });
    assert.equal(back.revision, 3);
    assert.equal(await served(t, gateway), "first");
    const { items } = await node.client.call("list_source_revisions", { params });
    assert.deepEqual(
      items.map(({ revision }) => revision),
      [3, 2, 1],
    );
    await node.stop();
    assert.equal(await served(t, await node.start()), "first");
  });

  test("sources are merged; an overlap and a missing dependency are refused with both sources named", async (t) => {
    const upstream = await named(t, "upstream");
    const node = await createOne(t);
    node.launch();
    await led(node);
    const put = (name: string, document: object) =>
      node.client.call("put_source", { params: { name }, body: text(document) });
    await put("keys", { credentials: [{ name: "main", api_key: "literal" }] });
    const warned = await put("a", { providers: [provider("one", upstream.url, { credential: "main" })] });
    assert.deepEqual(
      warned.warnings.map(({ source, path }) => [source, path]),
      [
        ["keys", "credentials[0].api_key"],
        ["", "auth"],
      ],
    );

    const overlap = await refusalOf(put("b", one(upstream)));
    assert.deepEqual([overlap.status, overlap.code], [422, "refused"]);
    assert.equal(problemsOf(overlap)[0]?.source, "b");
    assert.match(problemsOf(overlap)[0]?.message ?? "", /"one" is also in the source "a"/);
    // Both run concurrently: the second is compiled with the result of the first.
    const settled = await Promise.allSettled(
      ["c", "d"].map((name) => put(name, { providers: [provider("two", upstream.url)] })),
    );
    assert.deepEqual(settled.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);

    const needed = await refusalOf(node.client.call("delete_source", { params: { name: "keys" } }));
    assert.deepEqual([needed.status, needed.code], [422, "refused"]);
    assert.equal(problemsOf(needed)[0]?.source, "a");
    await node.client.call("delete_source", { params: { name: "a" } });
    await node.client.call("delete_source", { params: { name: "keys" } });
    assert.equal((await node.client.call("list_sources")).items.length, 1);
    assert.equal((await refusalOf(node.client.call("get_source", { params: { name: "keys" } }))).status, 404);
  });

  test("a document of several megabytes is accepted in parts; over 4 MiB each or 8 MiB in total it is refused with the limit", async (t) => {
    const upstream = await named(t, "upstream");
    const node = await createOne(t);
    const program = node.launch();
    await led(node);
    const params = { name: "large" };
    // Quotes take twice their length in a command.
    const sized = (bytes: number): string => {
      const document = `${text(one(upstream))}\n`;
      return document + `#${'"'.repeat(1_000)}\n`.repeat(Math.ceil((bytes - document.length) / 1_002));
    };
    for (const bytes of [380 << 10, 600 << 10, 3.9 * (1 << 20)]) {
      const body = sized(bytes);
      await node.client.call("put_source", { params, body });
      assert.ok((await node.client.call("get_source", { params })).document === body);
    }
    assert.equal(await served(t, await ready(program)), "upstream");
    const tooLong = await refusalOf(node.client.call("put_source", { params, body: sized(5 << 20) }));
    assert.deepEqual([tooLong.status, tooLong.code], [422, "refused"]);
    assert.match(tooLong.message, /longer than 4 MiB/);
    const declared = { headers: { "content-type": "application/yaml", "content-length": 9 << 20 } };
    const tooLarge = await send(join(node.dir, "admin.sock"), "PUT", "/admin/v1/sources/large", declared);
    assert.equal(tooLarge.status, 413);
    assert.match(tooLarge.text, /"body_too_large".*larger than 8388608 bytes/);
  });

  test("a file beside admin API sources is not applied, and `file_status` says why", async (t) => {
    const [ours, file] = await Promise.all([named(t, "api"), named(t, "file")]);
    const node = await createOne(t);
    const program = node.launch();
    await led(node);
    await node.client.call("put_source", { params: { name: "team" }, body: text(one(ours)) });
    await ready(program);
    await node.stop();
    await node.writeDeployment(one(file, 9));
    await node.writeNode({ deployment: "deployment.yaml" });
    const gateway = await node.start();
    await logged(gateway, "the deployment document on disk is not applied; what the cluster stores keeps serving");
    assert.equal(await served(t, gateway), "api");
    const status = await fileStatus(node);
    assert.equal(status.state, "diverged");
    assert.match(`${status.message} ${status.remedy}`, /admin API, as team.*remove `deployment` from the node file/);
    assert.equal((await refusalOf(node.client.call("reload_config"))).status, 409);
  });

  test("SIGTERM during writes ends cleanly, and acknowledged writes are there afterwards", async (t) => {
    const upstream = await named(t, "upstream");
    const node = await createOne(t);
    const program = node.launch();
    await led(node);
    await node.client.call("put_source", { params: { name: "team" }, body: text(one(upstream)) });
    await ready(program);
    const acknowledged: string[] = [];
    let isSignalled = false;
    let isStopping = false;
    const writer = async (which: number): Promise<void> => {
      for (let at = 0; !isStopping; at += 1) {
        const name = `k-${which}-${at}`;
        const call = node.client.call("create_key", { body: { name } }, { timeLimitMs: SLOW_MS });
        await call.then(
          () => acknowledged.push(name),
          () => undefined,
        );
        // Another writer's revision may have come in between.
        if (isSignalled || acknowledged.length < 20) continue;
        isSignalled = true;
        program.signal("SIGTERM");
      }
    };
    const writers = Promise.all([0, 1, 2, 3].map(writer));
    const ended = await within("the end", program.ended, SLOW_MS).finally(() => {
      isStopping = true;
    });
    assert.deepEqual(ended, { status: 0, signal: null });
    await writers;
    assert.deepEqual(
      program.log().filter(({ level }) => level === "error"),
      [],
    );
    await node.start();
    const kept = new Set((await node.client.call("list_keys")).items.map(({ name }) => name));
    assert.deepEqual(
      acknowledged.filter((name) => !kept.has(name)),
      [],
    );
  });
});
