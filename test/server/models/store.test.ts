import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { graphBytes } from "./support/graph.ts";
import { raw, sha256 } from "./support/hub.ts";
import {
  declarationOf,
  FILES,
  faultOf,
  fetched,
  filesBelow,
  folder,
  GRAPH,
  hubOf,
  leftovers,
  never,
  OTHER,
  REPO,
  setting,
} from "./support/store.ts";

test("a hub model is stored complete: graph, its external data, tokenizer and configuration", async (t) => {
  const { hub, directory, commit, store } = await setting(t);
  const declaration = declarationOf(hub, commit, { token: hub.token });
  const seen: { done: number; total: number }[] = [];
  const manifest = await store.resolve(declaration, "whole", never());
  const view = await store.ensure(manifest, { signal: never(), onProgress: (progress) => seen.push(progress) });

  const wanted = ["config.json", "onnx/model.onnx", "onnx/model.onnx_data", "tokenizer.json"] as const;
  assert.deepEqual(await filesBelow(view.directory), [...wanted]);
  for (const path of wanted) assert.deepEqual(await readFile(join(view.directory, path)), FILES[path]);
  assert.equal(view.graph, join(view.directory, "onnx/model.onnx"));
  assert.equal(view.tokenizer, join(view.directory, "tokenizer.json"));
  assert.equal(view.config, join(view.directory, "config.json"));
  const size = wanted.reduce((sum, path) => sum + FILES[path].length, 0);
  assert.equal(view.size, size);
  assert.deepEqual(seen.at(-1), { done: size, total: size });
  assert.deepEqual(
    (await filesBelow(join(directory, "sha256"))).toSorted(),
    wanted.map((path) => sha256(FILES[path])).toSorted(),
  );
  assert.equal((await stat(view.graph ?? "")).mode & 0o777, 0o444);
  assert.deepEqual(await leftovers(directory), []);
});

test("the token goes to the hub and not to its content host, and compression is not requested", async (t) => {
  const { hub, directory, commit } = await setting(t);
  await fetched(t, hub, directory, commit, { token: hub.token });
  assert.ok(hub.seen.some(({ host }) => host === "content"));
  for (const { host, authorization, encoding } of hub.seen) {
    assert.equal(authorization, host === "hub" ? `Bearer ${hub.token}` : undefined);
    assert.equal(encoding, "identity");
  }
});

test("with a warm cache there is no network request, also from another process and after a branch moved", async (t) => {
  const { hub, directory, commit } = await setting(t);
  const before = await fetched(t, hub, directory, commit);
  hub.commit(REPO, { ...FILES, "onnx/model.onnx": graphBytes([], 5) });
  hub.seen.length = 0;
  const view = await fetched(t, hub, directory, commit);
  assert.deepEqual(view, before);
  assert.deepEqual(hub.seen, []);
});

test("lost content is fetched again by its resolved commit, even if the hub no longer lists it", async (t) => {
  const { hub, directory, commit } = await setting(t);
  const view = await fetched(t, hub, directory, commit);
  await rm(join(view.directory, "onnx"), { recursive: true });
  await rm(join(directory, "sha256", sha256(FILES["onnx/model.onnx_data"])));
  hub.replacements = { siblings: [] };
  hub.seen.length = 0;
  assert.equal((await fetched(t, hub, directory, commit)).id, view.id);
  assert.deepEqual(
    hub.seen.map(({ path }) => path.split("?")[0]),
    [`/${REPO}/resolve/${commit}/onnx/model.onnx_data`, `/${sha256(FILES["onnx/model.onnx_data"])}`],
  );
});

test("a mirror without digests is read page by page, on its own origin alone", async (t) => {
  const { hub, directory, commit } = await setting(t);
  hub.isPlainMirror = true;
  const view = await fetched(t, hub, directory, commit, { token: hub.token });
  assert.deepEqual(await readFile(view.graph ?? ""), GRAPH);
  const pages = hub.seen.filter(({ path }) => path.includes("/tree/"));
  assert.equal(pages.length, 4);
  assert.ok(pages.every(({ host }) => host === "hub"));
});

const SHARED_MEMORY = "/dev/shm";
const isOtherSystem =
  existsSync(SHARED_MEMORY) && statSync(SHARED_MEMORY).dev !== statSync(tmpdir()).dev ? false : "no other file system";

test("without links to another file system, copies are made and maintained the same way", {
  skip: isOtherSystem,
}, async (t) => {
  const { hub, directory, commit } = await setting(t);
  const far = await mkdtemp(join(SHARED_MEMORY, "gateway-models-"));
  t.after(() => rm(far, { recursive: true, force: true }));
  await symlink(far, join(directory, "views"));
  const view = await fetched(t, hub, directory, commit);
  const graph = view.graph ?? "";
  const [there, blob] = await Promise.all([stat(graph), stat(join(directory, "sha256", sha256(GRAPH)))]);
  assert.notEqual(there.dev, blob.dev);
  assert.deepEqual([there.nlink, there.mode & 0o777], [1, 0o444]);
  assert.deepEqual(await readFile(graph), GRAPH);
  assert.deepEqual([await leftovers(directory), await leftovers(far)], [[], []]);

  hub.seen.length = 0;
  assert.deepEqual(await fetched(t, hub, directory, commit), view);
  await chmod(graph, 0o644);
  await writeFile(graph, OTHER);
  assert.deepEqual(await fetched(t, hub, directory, commit), view);
  assert.deepEqual(await readFile(graph), GRAPH);
  assert.deepEqual(hub.seen, []);
});

test("the token is not sent through any redirect to another origin, even one that returns", async (t) => {
  const { hub, directory, commit } = await setting(t);
  const content = `${hub.content}/${sha256(GRAPH)}`;
  // Redirects away from the hub, back to it, within it, and away again to the content.
  const steps = [`${hub.content}/away`, `${hub.endpoint}/back`, "/within", content];
  hub.fault = (seen, answer) => {
    const at = ["/away", "/back", "/within"].indexOf(seen.path.split("?")[0] ?? "") + 1;
    const isGraph = seen.path === `/${REPO}/resolve/${commit}/onnx/model.onnx`;
    if (at === 0 && !isGraph) return false;
    return raw(answer, [302, 307, 301, 308][at] ?? 302, { location: steps[at] ?? "" });
  };
  const view = await fetched(t, hub, directory, commit, { token: hub.token });
  assert.deepEqual(await readFile(view.graph ?? ""), GRAPH);
  const way = hub.seen.filter(
    ({ path }) => /^\/(away|back|within)|model\.onnx$/.test(path) || path === `/${sha256(GRAPH)}`,
  );
  assert.deepEqual(
    way.map(({ host, path, authorization }) => [host, path.split("/").at(-1), authorization]),
    [
      ["hub", "model.onnx", `Bearer ${hub.token}`],
      ["content", "away", undefined],
      ["hub", "back", undefined],
      ["hub", "within", undefined],
      ["content", sha256(GRAPH), undefined],
    ],
  );
});

/** Targets of redirects that are not followed. */
const ASTRAY: readonly (readonly [location: string, message: RegExp])[] = [
  ["file:///etc/passwd", /redirects to an address that does not begin with http:\/\/ or https:\/\//],
  ["http://user:word@127.0.0.1:9/", /redirects to an address with a user in it/],
  ["http://[", /redirects to an invalid address/],
  ["", /more than 5 redirects/],
];

test("a redirect to a forbidden address is not followed, and the address is not shown", async (t) => {
  const { hub, directory, commit, store } = await setting(t);
  const manifest = await store.resolve(declarationOf(hub, commit, { token: hub.token }), "text", never());
  for (const [location, message] of ASTRAY) {
    hub.fault = (_seen, answer) => raw(answer, 302, { location });
    const found = await faultOf(store.ensure(manifest, { signal: never() }));
    assert.deepEqual([found.fault, message.test(found.message)], ["refused", true], found.message);
    assert.doesNotMatch(found.message, /passwd|word@|hf_/);
    assert.deepEqual(await leftovers(directory), []);
  }
});

test("without the graph only tokenizer and configuration are fetched", async (t) => {
  const { hub, commit, store } = await setting(t);
  const manifest = await store.resolve(declarationOf(hub, commit), "text", never());
  const view = await store.ensure(manifest, { signal: never() });
  assert.equal(view.graph, undefined);
  assert.deepEqual(await filesBelow(view.directory), ["config.json", "tokenizer.json"]);
});

test("tokenizer and configuration from the graph's folder take precedence over the top level", async (t) => {
  const [hub, directory] = await Promise.all([hubOf(t), folder(t)]);
  const own = Buffer.from("own");
  const commit = hub.commit(REPO, { ...FILES, "onnx/tokenizer.json": own, "model.onnx": graphBytes() });
  const view = await fetched(t, hub, directory, commit);
  assert.deepEqual(await readFile(view.tokenizer ?? ""), own);
  const top = await fetched(t, hub, directory, commit, { model: "model.onnx" });
  assert.deepEqual(await readFile(top.tokenizer ?? ""), FILES["tokenizer.json"]);
});
