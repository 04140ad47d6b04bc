import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmod, chown, copyFile, link, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import test from "node:test";
import { graphBytes } from "./support/graph.ts";
import { send, sha256 } from "./support/hub.ts";
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
  storeIn,
} from "./support/store.ts";

/** Locations of external data in the graph. */
const LOCATIONS: readonly [string, RegExp][] = [
  ["../secret.bin", /outside of its folder/],
  ["/etc/passwd", /outside of its folder/],
  ["a/../../b", /outside of its folder/],
  ["a\\b", /outside of its folder/],
  ["C:data", /outside of its folder/],
  ["a\0b", /outside of its folder/],
  ["", /outside of its folder/],
  ["model.onnx", /outside of its folder/],
  ["absent.bin", /"onnx\/absent.bin", which is not in owner\/names at this commit/],
];

test("external data of a graph is below its folder and in its repository", async (t) => {
  const [hub, directory] = await Promise.all([hubOf(t), folder(t)]);
  for (const [location, message] of LOCATIONS) {
    const commit = hub.commit(REPO, {
      ...FILES,
      "onnx/model.onnx": graphBytes([location]),
      "secret.bin": Buffer.of(1),
    });
    const found = await faultOf(fetched(t, hub, directory, commit));
    assert.match(found.message, message, JSON.stringify(location));
    assert.deepEqual(await filesBelow(join(directory, "views")), []);
  }
  assert.deepEqual(await leftovers(directory), []);
});

test("listed files are fetched by their digests under the names of their roles", async (t) => {
  const { hub, directory, store } = await setting(t);
  const graph = graphBytes(["weights.bin"]);
  const weights = Buffer.alloc(5_000, 3);
  hub.fault = (seen, answer, request) => {
    const bytes = { "/g": graph, "/a/weights.bin?x=1": weights, "/t": FILES["tokenizer.json"] }[seen.path];
    if (bytes !== undefined) send(request, answer, bytes);
    return bytes !== undefined;
  };
  const file = (role: "model" | "external_data" | "tokenizer", path: string, bytes: Buffer) => ({
    role,
    url: `${hub.content}${path}`,
    sha256: sha256(bytes).toUpperCase(),
    size: bytes.length,
  });
  const files = [
    file("model", "/g", graph),
    file("external_data", "/a/weights.bin?x=1", weights),
    file("tokenizer", "/t", FILES["tokenizer.json"]),
  ];
  const manifest = await store.resolve({ name: "own", files }, "whole", never());
  const view = await store.ensure(manifest, { signal: never() });
  assert.deepEqual(await filesBelow(view.directory), ["model.onnx", "tokenizer.json", "weights.bin"]);
  assert.equal(view.config, undefined);

  const lacking = await store.resolve(
    { name: "own", files: files.filter(({ role }) => role !== "external_data") },
    "whole",
    never(),
  );
  const found = await faultOf(storeIn(t, await folder(t)).store.ensure(lacking, { signal: never() }));
  assert.match(found.message, /keeps data in "weights.bin", which is not in `files` \(role `external_data`\)/);
  for (const url of ["http://h/a/..%2fb", "http://h/%00", "http://h/", "http://h/model.onnx"]) {
    const wrong = { name: "own", files: [...files, { ...file("external_data", "/x", weights), url }] };
    assert.equal((await faultOf(store.resolve(wrong, "whole", never()))).fault, "refused", url);
  }
  assert.equal(
    (
      await faultOf(
        store.resolve(
          { name: "own", files: [{ ...file("tokenizer", "/t", weights), size: 65 << 20 }] },
          "text",
          never(),
        ),
      )
    ).fault,
    "refused",
  );
  assert.deepEqual(await leftovers(directory), []);
});

test("content changed on the disk is noticed and fetched again", async (t) => {
  const { hub, directory, commit } = await setting(t);
  const view = await fetched(t, hub, directory, commit);
  const graph = view.graph ?? "";
  const { store } = storeIn(t, directory);
  const known = await store.known(declarationOf(hub, commit), "whole");
  assert.ok(known);
  assert.deepEqual(await store.cached(known), view);

  // Same length and time: only the digest and the change time differ.
  const { atime, mtime } = await stat(graph);
  await chmod(graph, 0o644);
  await writeFile(graph, OTHER);
  await utimes(graph, atime, mtime);
  await chmod(graph, 0o444);
  assert.equal(await store.cached(known), undefined);
  await store.ensure(known, { signal: never() });
  assert.deepEqual(await readFile(graph), GRAPH);
  assert.deepEqual(await store.cached(known), view);

  await rm(graph);
  await writeFile(graph, GRAPH.subarray(1));
  assert.equal(await store.cached(known), undefined);
});

test("a link in the cache is never followed, and files that others can change are replaced", {
  skip: process.getuid?.() !== 0 && "only root can give a file away",
}, async (t) => {
  const { hub, directory, commit } = await setting(t);
  const view = await fetched(t, hub, directory, commit);
  const graph = view.graph ?? "";
  const blob = join(directory, "sha256", sha256(GRAPH));
  const mine = join(await folder(t), "mine");
  const { store } = storeIn(t, directory);
  const known = await store.known(declarationOf(hub, commit), "whole");
  assert.ok(known);
  const attacks: readonly (() => Promise<void>)[] = [
    async () => {
      await rm(blob);
      await symlink(mine, blob);
    },
    async () => {
      await rm(blob);
      await link(mine, blob);
    },
    async () => {
      await rm(graph);
      await symlink(mine, graph);
    },
    async () => chmod(graph, 0o666),
  ];
  for (const attack of attacks) {
    await rm(mine, { force: true });
    await copyFile(graph, mine);
    await chown(mine, 12_345, 12_345);
    await chmod(mine, 0o644);
    await rm(graph);
    await attack().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      await copyFile(blob, graph);
      await attack();
    });
    assert.equal(await store.cached(known), undefined);
    await store.ensure(known, { signal: never() });
    const [one, two] = await Promise.all([stat(graph), stat(blob)]);
    assert.deepEqual([one.uid, one.mode & 0o777, one.ino], [0, 0o444, two.ino]);
    assert.deepEqual(await readFile(graph), GRAPH);
  }
});

test("a forged manifest is not trusted if it leads out of the model", async (t) => {
  const { hub, directory, commit, store } = await setting(t);
  await fetched(t, hub, directory, commit);
  const [name = ""] = await filesBelow(join(directory, "manifests"));
  const path = join(directory, "manifests", name);
  const text = await readFile(path, "utf8");
  for (const [from, to] of [
    ["tokenizer.json", "../../../x"],
    ['"sha256","hex"', '"git_blob","hex"'],
    ['"size":', '"size":-'],
    ["[{", "[[{"],
  ] as const) {
    const replaced = text.replace(from, to);
    assert.notEqual(replaced, text);
    await writeFile(path, replaced);
    assert.equal(await store.known(declarationOf(hub, commit), "whole"), undefined, to);
  }
  await writeFile(path, text);
  assert.ok(await store.known(declarationOf(hub, commit), "whole"));
});

test("models with the same bytes share one view", async (t) => {
  const { hub, directory, commit, store } = await setting(t);
  const view = await fetched(t, hub, directory, commit);
  const again = hub.commit("owner/copy", FILES);
  const manifest = await store.resolve(
    { name: "copy", hub: { repo: "owner/copy", revision: again, endpoint: hub.endpoint } },
    "whole",
    never(),
  );
  assert.equal((await store.ensure(manifest, { signal: never() })).directory, view.directory);
  assert.equal(basename(view.directory), view.id);
  assert.equal(view.id.length, createHash("sha256").digest("hex").length);
});
