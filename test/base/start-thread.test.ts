/** Threads started from source: what runs in them, what they leave behind, and what the build contains of it. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { startThread } from "../../src/base/index.ts";
import { atEnd } from "../e2e/support/wait.ts";

const ROOT = new URL("../../", import.meta.url);
const CACHE = new URL("node_modules/.cache/gateway/threads/", ROOT);

/** Reports facts about itself that are invisible from outside. */
const SELF = `import { parentPort } from "node:worker_threads";
import { two } from "./two.ts";
const version: number = two;
parentPort?.postMessage({ url: import.meta.url, execArgv: process.execArgv, version });
`;

interface Self {
  readonly url: string;
  readonly execArgv: readonly string[];
  readonly version: number;
}

/** A folder with `worker.ts` of this text, and `two.ts`. */
function place(context: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "thread-"));
  atEnd(context, () => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "worker.ts"), text);
  writeFileSync(join(folder, "two.ts"), "export const two = 2;\n");
  return folder;
}

function moduleOf(folder: string): Parameters<typeof startThread>[0] {
  const source = pathToFileURL(join(folder, "worker.ts"));
  return { source, built: new URL("./built.js", source) };
}

async function selfOf(context: TestContext, folder: string): Promise<Self> {
  const worker = startThread(moduleOf(folder), { execArgv: ["--import", "tsx"] });
  const [self] = (await once(worker, "message")) as [Self];
  await worker.terminate();
  atEnd(context, () => rmSync(new URL(self.url), { force: true }));
  return self;
}

test("a thread runs its module and its imports as one file, without the process's loader", async (context) => {
  const self = await selfOf(context, place(context, SELF));
  assert.equal(self.version, 2);
  assert.ok(self.url.startsWith(CACHE.href), self.url);
  assert.deepEqual(self.execArgv, ["--enable-source-maps"]);
});

test("a package that a thread imports is found", async (context) => {
  const folder = place(context, `import "classic-level";\n${SELF}`);
  assert.equal((await selfOf(context, folder)).version, 2);
});

test("a module is compiled once per process", async (context) => {
  const folder = place(context, SELF);
  const first = await selfOf(context, folder);
  writeFileSync(join(folder, "two.ts"), "export const two = 3;\n");
  assert.deepEqual(await selfOf(context, folder), first);
});

test("an error in a thread has its source line", async (context) => {
  const folder = place(context, `interface Unused {}\n\n${SELF}\nthrow new Error(import.meta.url);\n`);
  const worker = startThread(moduleOf(folder));
  const [error] = (await once(worker, "error")) as [Error];
  atEnd(context, () => rmSync(new URL(error.message)));
  assert.match(error.stack ?? "", /worker\.ts:8:7/);
});

test("a module that cannot be compiled is refused with its place", (context) => {
  const folder = place(context, "const;\n");
  assert.throws(() => startThread(moduleOf(folder)), /worker\.ts:1:5/);
});

test("processes that start the same thread concurrently all succeed and leave one complete file", async (context) => {
  const folder = place(context, SELF);
  const program = join(folder, "program.ts");
  const { source, built } = moduleOf(folder);
  writeFileSync(
    program,
    `import { startThread } from ${JSON.stringify(new URL("src/base/index.ts", ROOT).href)};
const worker = startThread({ source: new URL(${JSON.stringify(source)}), built: new URL(${JSON.stringify(built)}) });
worker.on("message", (self) => console.log(JSON.stringify({ ...self, pid: process.pid })));
`,
  );
  const run = promisify(execFile);
  const outputs = await Promise.all(
    Array.from({ length: 3 }, () =>
      run(process.execPath, ["--import", "tsx", program], { cwd: fileURLToPath(ROOT), timeout: 60_000 }),
    ),
  );
  const selves = outputs.map(({ stdout }) => JSON.parse(stdout) as Self & { readonly pid: number });
  const urls = new Set(selves.map(({ url }) => url));
  for (const url of urls) atEnd(context, () => rmSync(new URL(url)));
  assert.equal(urls.size, 1);
  assert.deepEqual(
    selves.map(({ version }) => version),
    [2, 2, 2],
  );
  const left = readdirSync(CACHE).filter((name) => selves.some(({ pid }) => name.startsWith(`${pid}-`)));
  assert.deepEqual(left, []);
});

test("the build contains nothing of the bundler", async () => {
  const compiled = async (define: Record<string, string>): Promise<string> => {
    const { outputFiles } = await build({
      absWorkingDir: fileURLToPath(ROOT),
      entryPoints: ["src/base/start-thread.ts"],
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      packages: "external",
      write: false,
      define,
    });
    return outputFiles.map(({ text }) => text).join();
  };
  assert.match(await compiled({}), /esbuild/);
  assert.doesNotMatch(await compiled({ GATEWAY_IS_BUILT: "true" }), /esbuild|createRequire\(|\.cache/);
});
