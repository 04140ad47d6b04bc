/** A node's configuration over a single-node cluster: its inputs, and when it is compiled again. */

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { createInstruments, nullLog } from "../../../../src/base/index.ts";
import type { SourceOutcome, Sources } from "../../../../src/server/admin/index.ts";
import { openCluster, type WriteOptions } from "../../../../src/server/cluster/index.ts";
import { formatProblem } from "../../../../src/server/core/config/index.ts";
import { openModelStore, openModelSupply } from "../../../../src/server/models/index.ts";
import { sourcesPort } from "../../../../src/server/node/admin/sources-port.ts";
import { openConfiguration } from "../../../../src/server/node/configuration/configuration.ts";
import type { Configuration } from "../../../../src/server/node/configuration/configuration-types.ts";
import { readNode } from "../../../../src/server/node/configuration/load-documents.ts";
import type { OtherProcesses } from "../../../../src/server/node/worker/index.ts";
import type { Snapshot } from "../../../../src/server/snapshot/index.ts";
import { FILES, hubOf, REPO } from "../../models/support/store.ts";

const WRITE: WriteOptions = { by: { iss: "test", sub: "test" }, timeoutMs: 10_000 };

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Node {
  readonly configuration: Configuration;
  readonly sources: Sources;
  /** Returns the newest served snapshot. */
  snapshot(): Snapshot;
  /** `keys` of the node file, beside the common ones. */
  writeNode(keys: object): Promise<void>;
  writeDeployment(text: string): Promise<void>;
}

const CLUSTER = { node_id: "n1", data_dir: "data", bootstrap: true };

interface Opened {
  readonly keys?: object;
  readonly text?: string;
  readonly otherProcesses?: OtherProcesses;
}

async function open({ keys = {}, text, otherProcesses }: Opened): Promise<Node> {
  const dir = await mkdtemp(join(tmpdir(), "gateway-configuration-"));
  closers.push(() => rm(dir, { recursive: true, force: true }));
  const path = join(dir, "node.yaml");
  const deployment = text === undefined ? {} : { deployment: "deployment.yaml" };
  const writeNode = (more: object) => writeFile(path, JSON.stringify({ cluster: CLUSTER, ...deployment, ...more }));
  const writeDeployment = (document: string) => writeFile(join(dir, "deployment.yaml"), document);
  await writeNode(keys);
  if (text !== undefined) await writeDeployment(text);
  const cluster = await openCluster({
    nodeId: "n1",
    dataDir: join(dir, "data"),
    secret: undefined,
    previousSecret: undefined,
    start: { kind: "bootstrap" },
    rejoin: undefined,
    deadAfterMs: undefined,
    raftAddr: "",
    forwardAddr: "",
    advertise: "",
    forwardAdvertise: "",
    version: "0.0.0",
    minFreeBytes: 0,
    log: nullLog,
  });
  closers.push(() => cluster.close());
  const stop = new AbortController();
  const store = openModelStore({
    directory: join(dir, "cache"),
    userAgent: "gateway/test",
    now: Date.now,
    monotonic: () => performance.now(),
  });
  const models = openModelSupply({ store, log: nullLog, monotonic: () => performance.now() });
  closers.push(() => {
    models.close();
    return store.close();
  });
  let served: Snapshot | undefined;
  const documents = await readNode(path, {});
  assert.ok(documents.isSound, documents.problems.join("\n"));
  const configuration = openConfiguration({
    documents,
    env: {},
    cluster,
    sealed: undefined,
    models,
    otherProcesses,
    instruments: createInstruments(),
    log: nullLog,
    signal: stop.signal,
    onSnapshot(snapshot) {
      served = snapshot;
    },
    onNodeFile() {},
  });
  closers.push(() => {
    stop.abort();
    configuration.close();
  });
  await configuration.begin();
  return {
    configuration,
    sources: sourcesPort(cluster, configuration),
    snapshot() {
      assert.ok(served, "nothing is served");
      return served;
    },
    writeNode,
    writeDeployment,
  };
}

const refusals = ({ configuration }: Node): readonly string[] => (configuration.refusal() ?? []).map(formatProblem);

function messagesOf(outcome: SourceOutcome<unknown>): readonly string[] {
  return outcome.kind === "refused" ? outcome.problems.map(({ path, message }) => `${path}: ${message}`) : [];
}

const put = (node: Node, name: string, document: string) =>
  node.sources.put({ name, document, ifRevision: undefined }, WRITE);

const budget = (limit: number): string => `budgets: [{name: b, limit: ${limit}}]\n`;

test("the revision of limits rises with every stored change, also when a source is deleted or restored", async () => {
  const node = await open({});
  const revisions: (readonly [limit: number | undefined, revision: number | undefined])[] = [];
  const note = (): void => {
    const [rule] = node.snapshot().governance.budgets;
    revisions.push([rule?.limit, rule?.limitRev]);
  };
  await put(node, "budgets", budget(1));
  note();
  await put(node, "other", "default_provider: openai\nproviders: [{preset: openai}]\n");
  note();
  await put(node, "budgets", budget(2));
  note();
  await node.sources.delete("other", undefined, WRITE);
  note();
  await node.sources.rollback({ name: "budgets", to: 1, ifRevision: undefined }, WRITE);
  note();
  assert.deepEqual(revisions, [
    [1, 1],
    [1, 2],
    [2, 3],
    [2, 4],
    [1, 5],
  ]);
});

test("a configuration that could not be compiled because of an error is compiled again", async (t) => {
  let failures = 0;
  const node = await open({
    otherProcesses: {
      async prepare() {
        failures -= 1;
        if (failures >= 0) throw new Error("the other process does not answer");
        return [];
      },
      activate: () => Promise.resolve(),
    },
  });
  await put(node, "budgets", budget(1));
  assert.equal(node.snapshot().governance.budgets[0]?.limit, 1);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  failures = 2;
  const written = put(node, "budgets", budget(2));
  for (let turn = 0; turn < 100_000 && node.snapshot().governance.budgets[0]?.limit !== 2; turn += 1) {
    t.mock.timers.tick(10_000);
    await new Promise(setImmediate);
  }
  assert.equal(node.snapshot().governance.budgets[0]?.limit, 2);
  await written;
});

test("rules for a node that had none are checked before they are stored, and served afterwards", async () => {
  const node = await open({});
  const rule = (condition: string): string =>
    `access_rules: [{name: r, at: [llm], condition: ${JSON.stringify(condition)}, action: deny}]\n`;
  assert.deepEqual(messagesOf(await put(node, "rules", rule("modl == 'x'"))), [
    "access_rules[0].condition: column 1: there is no variable `modl`, did you mean `model`? declared: key, agent, user, model, upstream_model, provider, provider.name, provider.metadata, route",
  ]);
  const dry = await node.sources.dryRun(
    { name: "rules", document: rule("1"), ifRevision: undefined },
    AbortSignal.timeout(10_000),
  );
  assert.deepEqual(messagesOf(dry), ["access_rules[0].condition: column 1: the result must be a bool, found int"]);
  assert.equal((await put(node, "rules", rule("model == 'x'"))).kind, "done");
  assert.deepEqual(
    node.snapshot().governance.policies.rules.map((it) => it.rule.name),
    ["r"],
  );
});

const corp = (audience: string): object => ({
  issuers: [{ name: "corp", url: "https://id.example.com" }],
  admin: { local_socket: "s", policy_file: "p", issuers: [{ issuer: "corp", audience }] },
});

test("issuers added or removed by a reload decide again whether the configuration compiles", async () => {
  const node = await open({
    keys: corp("admin"),
    text: "auth: {issuers: [{issuer: corp, audience: models, subject: user}]}\n",
  });
  const before = node.snapshot();
  await node.writeNode({});
  await node.configuration.reload();
  assert.equal(node.snapshot(), before);
  assert.match(
    refusals(node).join(),
    /auth\.issuers\[0\]\.issuer: this names no entry of `issuers` of this node's file/,
  );

  await node.writeNode(corp("admin"));
  await node.configuration.reload();
  assert.deepEqual(refusals(node), []);
  assert.notEqual(node.snapshot(), before);
});

test("an audience that the running admin API accepts is refused, whatever the node file now says", async () => {
  const node = await open({
    keys: corp("admin"),
    text: "auth: {issuers: [{issuer: corp, audience: models, subject: user}]}\n",
  });
  await node.writeNode(corp("operators"));
  for (const audience of ["admin", "operators"]) {
    await node.writeDeployment(`auth: {issuers: [{issuer: corp, audience: ${audience}, subject: user}]}\n`);
    await node.configuration.reload();
    assert.equal(node.snapshot().governance.auth?.issuers[0]?.audience, "models");
    assert.equal(node.configuration.fileStatus().state, "refused");
    assert.match(node.configuration.fileStatus().message, /also valid for the admin API/);
  }
});

test("the status of a file that now has rules is shown at once, and whether it compiles a moment later", async () => {
  const node = await open({ text: "{}" });
  await node.writeDeployment("access_rules: [{name: r, condition: modl == 'x', action: deny}]\n");
  assert.equal(node.configuration.fileStatus().state, "no_version");
  // The reload has loaded the engine and refuses the document.
  await node.configuration.reload();
  const { state, message } = node.configuration.fileStatus();
  assert.equal(state, "refused");
  assert.match(message, /deployment\.yaml:1:37: access_rules\[0\]\.condition: column 1: there is no variable `modl`/);
});

test("a change that needs a model is stored at once and waits for it while the previous one serves", async (t) => {
  const hub = await hubOf(t);
  const commit = hub.commit(REPO, FILES);
  const node = await open({});
  await put(node, "budgets", budget(1));
  const before = node.snapshot();
  let release: (() => void) | undefined;
  const requested = new Promise<void>((resolve) => {
    hub.fault = (seen, answer) => {
      if (seen.host !== "content" || release !== undefined) return false;
      release = () => answer.destroy();
      resolve();
      return true;
    };
  });
  const document = (when: string) =>
    JSON.stringify({
      guardrails: {
        detectors: [{ type: "nlp", nlp: { ref: "names" } }],
        rules: [{ name: "r", action: "deny", when }],
      },
      models: { models: [{ name: "names", hub: { repo: REPO, revision: commit, endpoint: hub.endpoint } }] },
    });
  // Errors in the rest are reported before any byte is fetched.
  assert.match(messagesOf(await put(node, "guards", document("size(")))[0] ?? "", /^guardrails\.rules\[0\]\.when: /);
  const dry = { name: "guards", document: document("true"), ifRevision: undefined };
  assert.equal((await node.sources.dryRun(dry, AbortSignal.timeout(10_000))).kind, "done");
  assert.equal(hub.seen.length, 0);

  assert.equal((await put(node, "guards", document("true"))).kind, "done");
  await requested;
  assert.equal(node.snapshot(), before);
  assert.equal(node.configuration.refusal(), undefined);
  const { state, message } = node.configuration.fileStatus();
  assert.equal(state, "diverged");
  assert.match(
    message,
    /^this node is downloading models that the stored configuration needs, and keeps the previous configuration until then: names \(0\.0 of 0\.5 MB\)$/,
  );
  assert.equal(node.sources.list().find(({ name }) => name === "guards")?.state, "pending");

  const settled = new Promise<void>((resolve) => {
    const end = node.configuration.onChange(() => {
      if (/downloading models/.test(node.configuration.fileStatus().message)) return;
      end();
      resolve();
    });
  });
  release?.();
  await settled;
  assert.ok(hub.seen.some(({ path }) => path.endsWith("/tokenizer.json")));
});

test("the model of a reverted change is not fetched further", async (t) => {
  const hub = await hubOf(t);
  const commit = hub.commit(REPO, FILES);
  const node = await open({});
  await put(node, "budgets", budget(1));
  const requested = new Promise<void>((resolve) => {
    hub.fault = (seen) => {
      if (seen.host === "content") resolve();
      return seen.host === "content";
    };
  });
  const guards = {
    guardrails: { detectors: [{ type: "nlp", nlp: { ref: "names" } }] },
    models: { models: [{ name: "names", hub: { repo: REPO, revision: commit, endpoint: hub.endpoint } }] },
  };
  await put(node, "guards", JSON.stringify(guards));
  await requested;
  await node.sources.delete("guards", undefined, WRITE);
  await node.configuration.whenRebuilt();
  assert.doesNotMatch(node.configuration.fileStatus().message, /downloading models/);
  assert.deepEqual([...node.configuration.servedRevisions().keys()], ["budgets"]);
});
