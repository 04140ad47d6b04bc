/** `gateway models pin`, `list` and `prune` in the test's process, with a hub over real sockets. */

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import type { Io } from "../../../src/cli/process-io.ts";
import { readDeployment } from "../../../src/server/core/config/index.ts";
import { fail } from "../../server/models/support/hub.ts";
import {
  declarationOf,
  FILES,
  filesBelow,
  folder,
  hubOf,
  never,
  REPO,
  storeIn,
} from "../../server/models/support/store.ts";
import { bufferIo } from "../buffer-io.ts";

async function gateway(args: readonly string[], over: Partial<Io> = {}) {
  const io = bufferIo(over);
  const status = await execute(["models", ...args], io);
  return { status, out: io.out(), err: io.err() };
}

/** Parses a printed text like the gateway. */
function read(text: string) {
  const value = { kind: "value", value: "hf_secret" } as const;
  return readDeployment({ name: "printed", text }, { env: () => undefined, secret: () => value, file: () => value });
}

const NOW = Date.UTC(2026, 10, 23);

async function setting(t: TestContext) {
  const hub = await hubOf(t);
  return { hub, commit: hub.commit(REPO, FILES) };
}

test("a branch is printed as its current commit, in a document that is accepted unchanged", async (t) => {
  const { hub, commit } = await setting(t);
  const { status, out, err } = await gateway(["pin", "-endpoint", hub.endpoint, REPO], { now: () => NOW });
  assert.deepEqual([status, err], [0, "note: the graph seems to keep its weights in onnx/model.onnx_data\n"]);
  const { document, problems } = read(out);
  assert.deepEqual(
    problems.map(({ severity, message }) => `${severity} ${message}`),
    ["warning no detector refers to this model, so it is not downloaded"],
  );
  assert.deepEqual(document?.models?.models, [
    {
      name: "names",
      revision: "main",
      source: `${hub.endpoint}/${REPO}`,
      license: "apache-2.0",
      hub: { repo: REPO, revision: commit, model: "onnx/model.onnx", endpoint: hub.endpoint },
    },
  ]);
  assert.match(out, /revision: main # of 2026-10-01T12:00:00.000Z, resolved 2026-11-23\n/);
  assert.match(out, /# onnx\/model.onnx sha256:[0-9a-f]{64} \d+ kB\n/);
  assert.match(out, /# tokenizer.json git:[0-9a-f]{40} \d+ B\n/);
  assert.ok(hub.seen.every(({ path }) => !path.endsWith(".onnx")));
});

test("a commit, a name and a specific graph are used as requested", async (t) => {
  const { hub, commit } = await setting(t);
  hub.commit(REPO, {});
  const flags = ["-revision", commit, "-name", "1e5", "-model", "onnx/model_quantized.onnx", "-endpoint", hub.endpoint];
  const { out } = await gateway(["pin", ...flags, REPO]);
  const [model] = read(out).document?.models?.models ?? [];
  assert.deepEqual(
    [model?.name, model?.hub?.revision, model?.hub?.model],
    ["1e5", commit, "onnx/model_quantized.onnx"],
  );
});

test("a gated repository gets a reference instead of the token, which appears in no output", async (t) => {
  const { hub } = await setting(t);
  const repository = hub.repositories.get(REPO);
  assert.ok(repository);
  repository.gated = true;
  const asked = ["pin", "-endpoint", hub.endpoint, REPO];
  const without = await gateway(asked);
  assert.equal(without.status, 0);
  assert.match(without.err, /warning: its files cannot be downloaded with this entry: .*accept its terms/);
  for (const [args, env] of [
    [["pin", "-token", hub.token, "-endpoint", hub.endpoint, REPO], {}],
    [asked, { HUB_TOKEN: hub.token }],
  ] as const) {
    const { out, err, status } = await gateway(args, { env });
    assert.deepEqual([status, /cannot be fetched/.test(err)], [0, false]);
    assert.match(out, /token: \$\{secret:HUB_TOKEN\}\n/);
    assert.doesNotMatch(out + err, /hf_/);
    assert.equal(read(out).document?.models?.models[0]?.hub?.token, "hf_secret");
  }
});

test("an unpinnable model gives the reason", async (t) => {
  const { hub } = await setting(t);
  const pin = (...args: readonly string[]) => gateway(["pin", "-endpoint", hub.endpoint, ...args]);
  const cases: readonly [readonly string[], number, RegExp][] = [
    [["-revision", "gone", REPO], 1, /has no such revision \(Invalid rev id: gone\)/],
    [["owner/none"], 1, /not found, or it needs a token/],
    [
      ["-model", "a.onnx", REPO],
      1,
      /has no a\.onnx at this commit: it has onnx\/model\.onnx, onnx\/model_quantized\.onnx\n/,
    ],
    [["names"], 2, /'names': expected a text such as "owner\/name"/],
    [["-name", "", REPO], 2, /flag '-name': /],
    [["-model", "../a", REPO], 2, /flag '-model': /],
    [["-revision", "", REPO], 2, /flag '-revision' is empty/],
    [[], 2, /missing argument: OWNER\/NAME/],
  ];
  for (const [args, expected, message] of cases) {
    const { status, out, err } = await pin(...args);
    assert.deepEqual([status, out], [expected, ""], `${args.join(" ")}: ${err}`);
    assert.match(err, message);
  }
  const plain = await gateway(["pin", "-endpoint", "http://hub.example", REPO]);
  assert.deepEqual(
    [plain.status, /flag '-endpoint': the URL of a hub must begin with https/.test(plain.err)],
    [2, true],
  );
  hub.fault = (_seen, answer) => fail(answer, 400, undefined, "\u001b[31mred");
  assert.doesNotMatch((await pin(REPO)).err, /\u001b/);
});

test("a terminal shows a progress line that disappears", async (t) => {
  const { hub } = await setting(t);
  const { err } = await gateway(["pin", "-endpoint", hub.endpoint, REPO], { isTerminal: (name) => name === "stderr" });
  assert.ok(err.startsWith(`\r\u001b[Kasking ${hub.endpoint} for ${REPO}\r\u001b[K`), JSON.stringify(err));
});

test("the cache is listed by use in the configuration, and unused content is removed after confirmation", async (t) => {
  const { hub, commit } = await setting(t);
  const dir = await folder(t);
  const cache = join(dir, "models");
  const old = hub.commit(REPO, { ...FILES, "onnx/model.onnx_data": Buffer.alloc(300_000, 1) });
  const write = async (revision: string): Promise<string> => {
    const { hub: entry } = declarationOf(hub, revision);
    const document = {
      guardrails: { detectors: [{ type: "nlp", nlp: { ref: "names" } }] },
      models: { models: [{ name: "names", hub: entry }] },
    };
    await writeFile(join(dir, "deployment.yaml"), JSON.stringify(document));
    const node = { cluster: { node_id: "n", data_dir: "data", bootstrap: true }, cache_dir: "models" };
    await writeFile(join(dir, "node.yaml"), JSON.stringify({ ...node, deployment: "deployment.yaml" }));
    await writeFile(join(dir, "api.yaml"), JSON.stringify(node));
    return join(dir, "node.yaml");
  };
  const fetchOf = async (revision: string) => {
    const { store } = storeIn(t, cache);
    const manifest = await store.resolve(declarationOf(hub, revision), "whole", never());
    return store.ensure(manifest, { signal: never() });
  };
  const config = await write(commit);
  assert.deepEqual(await gateway(["list", "-config", config]), {
    status: 0,
    out: "model  state   size\nnames  absent\n",
    err: `${cache}: 0 B in 0 places that these do not use\n`,
  });
  await fetchOf(old);
  const view = await fetchOf(commit);
  const listed = await gateway(["list", "-config", config]);
  assert.match(listed.out, /^names {2}cached {2}500 kB\n$/m);
  assert.match(listed.err, /: 30\d kB in 4 places that these do not use\n$/);

  const before = await filesBelow(cache);
  const dry = await gateway(["prune", "-config", config]);
  assert.equal(dry.status, 0);
  assert.equal(dry.out.trimEnd().split("\n").length, 4);
  assert.match(dry.err, /30\d kB would be removed; with -confirm they are\n$/);
  assert.deepEqual(await filesBelow(cache), before);
  const done = await gateway(["prune", "-confirm", "-config", config]);
  assert.deepEqual([done.status, done.out], [0, dry.out]);
  const { store } = storeIn(t, cache);
  const known = await store.known(declarationOf(hub, commit), "whole");
  assert.ok(known);
  assert.deepEqual(await store.cached(known), view);
  assert.match((await gateway(["prune", "-config", config])).err, /there is nothing to remove\n$/);

  const api = await gateway(["prune", "-confirm", "-config", join(dir, "api.yaml")]);
  assert.deepEqual([api.status, /does not know what it uses/.test(api.err)], [1, true]);
  assert.deepEqual(await store.cached(known), view);

  await write(old);
  await mkdir(join(cache, "locks"), { recursive: true });
  await writeFile(join(cache, "locks", "x.lock"), "{}");
  const busy = await gateway(["prune", "-confirm", "-config", config], { now: Date.now });
  assert.deepEqual([busy.status, /a model is being downloaded into it/.test(busy.err)], [1, true]);
  assert.deepEqual(await store.cached(known), view);
});

test("check downloads nothing, and gives the size of an uncached model", async (t) => {
  const { hub, commit } = await setting(t);
  const dir = await folder(t);
  const { hub: entry } = declarationOf(hub, commit);
  const document = {
    guardrails: { detectors: [{ type: "nlp", nlp: { ref: "names" } }] },
    models: { models: [{ name: "names", hub: entry }] },
  };
  await writeFile(join(dir, "deployment.yaml"), JSON.stringify(document));
  const cluster = { node_id: "n", data_dir: "data", bootstrap: true };
  await writeFile(join(dir, "node.yaml"), JSON.stringify({ cluster, cache_dir: "m", deployment: "deployment.yaml" }));
  const io = bufferIo();
  assert.equal(await execute(["check", "-config", join(dir, "node.yaml")], io), 1);
  assert.match(io.out(), /^fail {2}model names: not in .*\/m: the gateway would download 30\d kB at its start$/m);
  assert.deepEqual(await filesBelow(dir), ["deployment.yaml", "node.yaml"]);
  hub.fault = (_seen, answer) => fail(answer, 404, "RevisionNotFound");
  const absent = bufferIo();
  assert.equal(await execute(["check", "-config", join(dir, "node.yaml")], absent), 1);
  assert.match(absent.out(), /^fail {2}model names: not in .*, and it cannot be downloaded: .*no such revision/m);
});
