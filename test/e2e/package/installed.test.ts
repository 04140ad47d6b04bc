// tier: test
/**
 * The package for a user without this repository: installed from the tarball, with each part used that finds something
 * by its path, starts a thread or loads a package lazily, which a bundle may have lost.
 */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { openTerminal, ptySkip } from "../../console/support/terminal.ts";
import { startCollector } from "../../server/telemetry/otlp/collector.ts";
import { writeFiles } from "../support/config.ts";
import { runProgram, startGateway, startWithFlags } from "../support/gateway.ts";
import { simulated } from "../support/simulated.ts";
import { eventually, type Owner } from "../support/wait.ts";
import { installTarball, packTarball, ROOT, weightOf } from "./support/install.ts";

const MIB = 1 << 20;
/** Maximum size of an installation without optional packages. */
const MAX_BYTES = 60 * MIB;

const owner: Owner = { after };
const tarball = await packTarball(owner);
const installed = await installTarball(owner, tarball.path);
process.env["GATEWAY_TEST_PROGRAM"] = installed.program;
const { root, program, prefix } = installed;

const run = promisify(execFile);
const gateway = (args: readonly string[]) => run(process.execPath, [program, ...args], { timeout: 60_000 });

async function scripts(): Promise<readonly string[]> {
  const names = await readdir(join(root, "dist"), { recursive: true });
  return names.filter((name) => name.endsWith(".js")).map((name) => join(root, "dist", name));
}

test("the package is small and depends on no other package", async (t) => {
  const bytes = await weightOf(prefix);
  t.diagnostic(
    `tarball ${(tarball.bytes / MIB).toFixed(1)} MiB, installed ${(bytes / MIB).toFixed(1)} MiB in ${Math.round(installed.installMs)} ms`,
  );
  assert.ok(bytes < MAX_BYTES, `${bytes} bytes`);
  const about: unknown = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  assert.ok(typeof about === "object" && about !== null);
  for (const name of ["dependencies", "optionalDependencies", "bundleDependencies"]) assert.ok(!(name in about), name);
  for (const name of ["install", "postinstall", "preinstall"])
    assert.ok(!("scripts" in about && name in Object(about.scripts)));
});

test("the package contains the native libraries of every supported platform", async (t) => {
  if (tarball.lacksPlatforms !== false) return t.skip(tarball.lacksPlatforms);
  const names = await readdir(join(root, "dist/native"), { recursive: true });
  const libraries = names.filter((name) => name.endsWith(".node")).sort();
  for (const platform of ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"]) {
    assert.ok(
      libraries.some((name) => name.startsWith(`koffi/${platform}/`)),
      `koffi for ${platform}`,
    );
  }
  for (const platform of ["linux-x64", "linux-arm64", "darwin-x64+arm64"]) {
    assert.ok(
      libraries.some((name) => name.startsWith(`classic-level/prebuilds/${platform}/`)),
      `classic-level for ${platform}`,
    );
  }
});

test("no file of the package names the folder it was built in", async () => {
  const names = await readdir(root, { recursive: true, withFileTypes: true });
  const paths = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const naming: string[] = [];
  for (const path of paths) if ((await readFile(path)).includes(ROOT)) naming.push(path);
  assert.deepEqual(naming, []);
});

/** Packages that the code looks for at run time and works without: in a `try`, or in code for other platforms. */
const BESIDE = [
  /^#native\//,
  /^(re2|onnxruntime-node|tokenizers)$/,
  /^(bufferutil|utf-8-validate|encoding|react-native|supports-color|@aws-sdk\/signature-v4-crt)$/,
  /^ajv(-formats)?\/dist\//,
];

test("no lazily loaded file is missing", async () => {
  const builtIn = new Set(builtinModules);
  const missing = new Set<string>();
  for (const path of await scripts()) {
    const text = await readFile(path, "utf8");
    for (const [, name = ""] of text.matchAll(/\b(?:import|require|__require)(?:\.resolve)?\("([^"\n]+)"\)/g)) {
      const isThere = /^(\.|node:)/.test(name) || builtIn.has(name) || BESIDE.some((it) => it.test(name));
      if (!isThere) missing.add(name);
    }
  }
  assert.deepEqual([...missing], []);
});

test("every file of the package loads", async () => {
  // Files of threads and processes start work when loaded, and loaders of native libraries are specific to one
  // platform.
  const files = (await scripts()).filter((path) => !/\/(worker|child|program)\.js$|\/dist\/native\//.test(path));
  assert.ok(files.length > 50);
  const code = `for (const file of ${JSON.stringify(files)}) {
    try { await import(file); } catch (error) { console.log(file, error.message); }
  }
  process.exit();`;
  const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    encoding: "utf8",
    cwd: prefix,
  });
  assert.equal(stdout, "");
  assert.equal(status, 0);
});

test("verbs print version, help, presets, packs and recognizers", async () => {
  const about = JSON.parse((await gateway(["version", "-json"])).stdout);
  assert.equal(about.name, "gateway");
  assert.match(about.bundler, /^esbuild \d/);
  assert.equal(about.node, process.versions.node);
  assert.match((await gateway(["help"])).stdout, /Usage: gateway/);
  assert.match((await gateway(["completion", "bash"])).stdout, /complete/);
  assert.match((await gateway(["-config-schema"])).stdout, /"\$schema"/);
  const packs = (await gateway(["pack", "list"])).stdout
    .split("\n")
    .slice(1)
    .filter((line) => line !== "");
  assert.ok(packs.length >= 3, packs.join("\n"));
  const [id = ""] = packs[0]?.split(/\s/) ?? [];
  assert.match((await gateway(["pack", "show", id])).stdout, new RegExp(`Pack ${id}`));
});

test("flag mode: a request is answered and exported to a collector", async (t) => {
  const simulator = await simulated(t);
  const collector = await startCollector(t);
  const gateway = await startWithFlags(t, {
    upstream: `${simulator.url}/v1`,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "20",
    },
  });
  assert.equal((await chat(gateway.url, "hello")).status, 200);
  await eventually("a span", () => collector.spans().length > 0);
  const metrics = await fetch(gateway.metricsUrl ?? "");
  assert.match(await metrics.text(), /^gateway_requests_total\{/m);
});

const chat = (url: string, content: string): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "sim-1", messages: [{ role: "user", content }] }),
  });

/** Longer than is inspected in the request's thread. */
const LONG = "All is well. ".repeat(400);

test("config mode works: policy, socket, guardrails, query, console, trail", async (t) => {
  const simulator = await simulated(t);
  const files = await writeFiles(
    t,
    {
      providers: [{ name: "sim", dialect: "compat", base_url: `${simulator.url}/v1`, api_key: "k" }],
      default_provider: "sim",
      guardrails: {
        detectors: [{ type: "pii", prefilter: "pure", entities: ["EMAIL_ADDRESS"] }],
        rules: [{ name: "no-mail", when: '"pii/EMAIL_ADDRESS" in labels', action: "deny" }],
      },
      access_rules: [{ name: "no-previews", at: ["llm"], condition: 'model.matches("-preview$")', action: "deny" }],
    },
    { admin: { local_socket: "admin.sock", policy_file: "admin.cedar" }, extproc: { inspect_listen: "127.0.0.1:0" } },
  );
  const { dir, nodePath } = files;
  await writeFile(join(dir, "admin.cedar"), "permit(principal, action, resource);");
  const node = await startGateway(t, { args: ["-config", nodePath] });
  const socket = join(dir, "admin.sock");
  assert.equal((await chat(node.url, "hello")).status, 200);
  assert.equal((await chat(node.url, `${LONG} ada@example.com`)).status, 403);

  const { stdout } = await gateway(["query", "-socket", socket, "SELECT name FROM backends"]);
  assert.match(stdout, /sim/);
  assert.match((await gateway(["admin", "-socket", socket, "GET", "backends"])).stdout, /"sim"/);
  assert.match((await gateway(["guardrails", "list", "-socket", socket])).stdout, /no-mail/);
  assert.match((await gateway(["check", "-config", nodePath, "-offline"])).stdout, /^ok {4}admin policy: /m);

  await t.test("the console draws and exits", { skip: ptySkip }, async () => {
    const terminal = openTerminal(t, {
      args: [program, "console", "-socket", socket],
      env: { HOME: dir, XDG_STATE_HOME: join(dir, "state") },
      cwd: dir,
      columns: 120,
      rows: 35,
    });
    await terminal.until(/live \ds/);
    await terminal.press("ctrl-c");
    assert.equal((await terminal.ended).status, 0);
  });

  const saved = join(dir, "state.tgz");
  await gateway(["snapshot", "save", "-socket", socket, saved]);
  node.signal("SIGTERM");
  assert.equal((await node.ended).status, 0);
  await writeFile(
    join(dir, "trail.jsonl"),
    node
      .stderr()
      .split("\n")
      .filter((line) => line.startsWith('{"audit"'))
      .join("\n"),
  );
  assert.match((await gateway(["audit", "verify", join(dir, "trail.jsonl")])).stdout, /./);
});

test("an error about a missing optional package names the command that installs it", async (t) => {
  const detectors = [{ type: "pii", prefilter: "native" }];
  const files = await writeFiles(t, { providers: [], guardrails: { detectors, rules: [] } });
  const check = runProgram(t, { args: ["check", "-offline", "-config", files.nodePath] });
  assert.equal((await check.ended).status, 1);
  const command = new RegExp(`npm install -g --prefix '${prefix}' re2@[\\d.]+`);
  assert.match(check.stdout(), command);
  assert.match((await gateway(["parts"])).stdout, command);
});
