/**
 * examples/deploy: each file is parsed by its program, or run. The chart has its own tests in
 * examples-deploy-chart.test.ts, examples-deploy-pods.test.ts and examples-deploy-schemas.test.ts.
 */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";
import { createPlaceholderCertificate } from "../../src/server/tls/index.ts";
import { peer } from "../peers/index.ts";
import { writeFiles } from "./support/config.ts";
import { runProgram, startGateway } from "./support/gateway.ts";
import { atEnd, type Owner } from "./support/wait.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const DEPLOY = join(ROOT, "examples/deploy");
const [promtool, logrotate] = await Promise.all([peer("promtool"), peer("logrotate")]);

const run = promisify(execFile);
const textOf = (name: string): Promise<string> => readFile(join(DEPLOY, name), "utf8");

async function folder(owner: Owner): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "gateway-deploy-"));
  atEnd(owner, () => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** Writes each secret that the examples read. */
async function credentials(dir: string): Promise<string> {
  const path = join(dir, "credentials");
  await mkdir(path);
  for (const name of ["CLUSTER_SECRET", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"]) {
    await writeFile(join(path, name), `a-secret-that-is-long-enough-for-${name}`);
  }
  return path;
}

const systemd = spawnSync("systemd-analyze", ["--version"]).status === 0 ? false : "no systemd-analyze";

test("systemd accepts the unit and rates its exposure at 1.3 or less", { skip: systemd }, async (t) => {
  const dir = await folder(t);
  const unit = join(dir, "gateway.service");
  const text = await textOf("systemd/gateway.service");
  assert.match(text, /^ExecStart=\/usr\/local\/bin\/gateway -config /m);
  await writeFile(unit, text.replaceAll("/usr/local/bin/gateway", join(ROOT, "bin/gateway")));
  const verified = spawnSync("systemd-analyze", ["verify", "--man=no", unit], { encoding: "utf8" });
  assert.equal(verified.status, 0, verified.stderr);
  assert.doesNotMatch(verified.stderr, /gateway\.service/);
  // The threshold is ten times the exposure level, which ranges from 0 to 10; less is better.
  const rated = spawnSync("systemd-analyze", ["security", "--offline=true", "--threshold=13", unit], {
    encoding: "utf8",
  });
  assert.equal(rated.status, 0, rated.stdout.slice(-300));
});

test("each secret that the unit's documents read is a credential of the unit, and the documents compile with them", async (t) => {
  const dir = await folder(t);
  const CREDENTIALS_DIRECTORY = await credentials(dir);
  for (const name of ["node.yaml", "deployment.yaml"]) await copyFile(join(DEPLOY, "systemd", name), join(dir, name));
  const [unit, ...documents] = await Promise.all(
    ["gateway.service", "node.yaml", "deployment.yaml"].map((name) => textOf(`systemd/${name}`)),
  );
  const credentialNames = [...(unit ?? "").matchAll(/^LoadCredential=(\w+):/gm)].map(([, name]) => name);
  const wanted = [...documents.join("\n").matchAll(/\$\{secret:(\w+)\}/g)].map(([, name]) => name);
  assert.deepEqual([...new Set(wanted)].sort(), credentialNames.sort());
  await assertCompiles(t, join(dir, "node.yaml"), { CREDENTIALS_DIRECTORY });
});

async function assertCompiles(owner: Owner, path: string, env: Readonly<Record<string, string>>): Promise<void> {
  const check = runProgram(owner, { args: ["check", "-offline", "-config", path], env });
  assert.equal((await check.ended).status, 0, check.stdout());
  assert.doesNotMatch(check.stdout(), /warning: |^note {2}secret /m);
}

test("logrotate accepts its file", { skip: logrotate.missing }, async (t) => {
  const dir = await folder(t);
  const path = join(dir, "gateway.logrotate");
  await writeFile(path, await textOf("systemd/gateway.logrotate"), { mode: 0o644 });
  const { stderr } = await run(logrotate.path, ["-d", "-s", join(dir, "state"), path]);
  assert.doesNotMatch(stderr, /error/i);
  assert.match(stderr, /trail\.jsonl/);
});

test("the container needs no shell: its health check is a verb on the node's admin socket", async (t) => {
  const text = await textOf("container/Containerfile");
  const [build = "", image = ""] = text.split(/^FROM \$\{RUNTIME\}$/m);
  assert.match(build, /^COPY gateway-\*\.tgz /m);
  assert.match(image, /^USER 10001:10001$/m);
  assert.doesNotMatch(image, /^(RUN|SHELL) /m);
  const commandOf = (name: string): readonly string[] => {
    const [, line = "[]"] = new RegExp(`^${name} .*?(\\[.*\\])$`, "m").exec(image) ?? [];
    return JSON.parse(line) as readonly string[];
  };
  const program = ["node", "/opt/gateway/bin/gateway"];
  assert.deepEqual(commandOf("ENTRYPOINT"), program);
  const health = commandOf("HEALTHCHECK");
  assert.deepEqual(health.slice(0, 2), program);
  const dir = await folder(t);
  const socket = join(dir, "admin.sock");
  const files = await writeFiles(t, { providers: [] }, { admin: { local_socket: socket } });
  const of = async (env: Readonly<Record<string, string>>) =>
    (await runProgram(t, { args: health.slice(2).map((it) => it.replace("3s", "1s")), env }).ended).status;
  assert.equal(await of({ GATEWAY_ADMIN_SOCKET: socket }), 3);
  await startGateway(t, { args: ["-config", files.nodePath] });
  assert.equal(await of({ GATEWAY_ADMIN_SOCKET: socket }), 0);
});

test("the nodes of the Compose file are the members of its node file, which compiles", async (t) => {
  const dir = await folder(t);
  const secrets = await credentials(dir);
  const compose = parse(await textOf("compose/compose.yaml"), { merge: true }) as {
    readonly services: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  const node = await textOf("compose/node.yaml");
  const members = (parse(node) as { cluster: { peers: readonly { id: string }[] } }).cluster.peers.map(({ id }) => id);
  assert.deepEqual(Object.keys(compose.services), members);
  for (const [name, service] of Object.entries(compose.services)) {
    assert.deepEqual(
      [service["hostname"], service["environment"], service["read_only"]],
      [name, { NODE_NAME: name }, true],
    );
  }
  await writeFile(join(dir, "node.yaml"), node.replace("/run/secrets", secrets));
  await copyFile(join(DEPLOY, "compose/deployment.yaml"), join(dir, "deployment.yaml"));
  await assertCompiles(t, join(dir, "node.yaml"), { NODE_NAME: "gateway-1" });
});

test("promtool accepts the rules, and each of their tests passes", { skip: promtool.missing }, async () => {
  const cwd = join(DEPLOY, "monitoring");
  for (const args of [
    ["check", "rules", "--lint-fatal", "rules.yaml"],
    ["test", "rules", "rules.test.yaml"],
  ]) {
    await run(promtool.path, args, { cwd }).catch((error: { stdout: string; stderr: string }) =>
      assert.fail(`${error.stdout}${error.stderr}`),
    );
  }
});

test("every alert says what is wrong and what to do", async () => {
  const { groups } = parse(await textOf("monitoring/rules.yaml")) as {
    groups: readonly { rules: readonly { alert?: string; annotations?: Record<string, string> }[] }[];
  };
  const alerts = groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert !== undefined);
  assert.ok(alerts.length > 10);
  for (const { alert, annotations } of alerts)
    assert.deepEqual(Object.keys(annotations ?? {}), ["summary", "action"], alert);
});

test("promtool finds no problem in the metrics of a node", { skip: promtool.missing }, async (t) => {
  const { status, stdout, stderr } = spawnSync(promtool.path, ["check", "metrics"], {
    input: await servedMetrics(t),
    encoding: "utf8",
  });
  assert.deepEqual([status, stdout, stderr], [0, "", ""]);
});

test("rules and dashboard query only metrics that a node has", async (t) => {
  const text = await servedMetrics(t);
  const served = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = ""]) => name));
  const asked = new Set<string>();
  for (const file of ["monitoring/rules.yaml", "monitoring/dashboard.json"]) {
    const parsed: unknown = file.endsWith("json") ? JSON.parse(await textOf(file)) : parse(await textOf(file));
    for (const expression of expressions(parsed)) {
      for (const [name] of expression.matchAll(/\b(?:gateway|process)_[a-z0-9_]+\b/g)) asked.add(name);
    }
  }
  assert.ok(asked.size > 25, `${asked.size} names`);
  const missing = [...asked].filter(
    (name) => !served.has(name) && !served.has(name.replace(/_(bucket|count|sum)$/, "")),
  );
  assert.deepEqual(missing, []);
});

/** Returns every `expr` and `query` below the node. */
function expressions(node: unknown): readonly string[] {
  if (typeof node !== "object" || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    (key === "expr" || key === "query") && typeof value === "string" ? [value] : expressions(value),
  );
}

/** Returns the metrics of a node with a cluster and a certificate. */
async function servedMetrics(owner: Owner): Promise<string> {
  const dir = await folder(owner);
  const { chain, key } = await createPlaceholderCertificate(Date.now());
  await writeFile(join(dir, "chain.pem"), chain);
  await writeFile(join(dir, "key.pem"), key, { mode: 0o600 });
  const tls = { cert_file: join(dir, "chain.pem"), key_file: join(dir, "key.pem") };
  const guardrails = { detectors: [{ type: "pii", prefilter: "pure" }], rules: [] };
  const files = await writeFiles(owner, { providers: [], guardrails }, { tls });
  const gateway = await startGateway(owner, { args: ["-config", files.nodePath] });
  return await (await fetch(gateway.metricsUrl ?? "")).text();
}

test("every component in the collector's pipelines is declared, and every declared component is used", async () => {
  const { service, ...declared } = parse(await textOf("monitoring/collector.yaml")) as {
    readonly service: {
      readonly extensions: readonly string[];
      readonly pipelines: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
    };
  } & Readonly<Record<"receivers" | "processors" | "exporters" | "extensions", object>>;
  assert.deepEqual(Object.keys(service.pipelines), ["traces", "metrics", "logs"]);
  assert.deepEqual(service.extensions, Object.keys(declared.extensions));
  for (const kind of ["receivers", "processors", "exporters"] as const) {
    const used = new Set(Object.values(service.pipelines).flatMap((it) => it[kind] ?? []));
    assert.deepEqual([...used].sort(), Object.keys(declared[kind]).sort(), kind);
  }
});
