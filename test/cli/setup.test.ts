/**
 * The setup before `npm start` and `npm test`, in a folder of its own, with an npm and a build that only leave marker
 * files.
 */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

/** `needed` and its dependencies are for the build, the others for tests; `asked` occurs twice, in two versions. */
const LOCKED = {
  "": { version: "0.1.0", workspaces: ["test"], devDependencies: { needed: "1.0.0" } },
  "node_modules/asked": { version: "1.0.0" },
  "node_modules/for-tests": { version: "1.0.0", dependencies: { asked: "1.0.0" } },
  "node_modules/needed": {
    version: "1.0.0",
    dependencies: { asked: "2.0.0" },
    optionalDependencies: { "other-platform": "1.0.0" },
  },
  "node_modules/needed/node_modules/asked": { version: "2.0.0" },
  "node_modules/other-platform": { version: "1.0.0", optional: true },
  "node_modules/gateway-tests": { resolved: "test", link: true },
  test: { name: "gateway-tests", devDependencies: { "for-tests": "1.0.0" } },
};

/** Installs packages like npm; its arguments are written to `npm-args`. */
const NPM = `
const { mkdirSync, writeFileSync } = require("node:fs");
const args = process.argv.slice(2);
writeFileSync("npm-args", args.join(" "));
const packages = {
  "node_modules/needed": { version: "1.0.0" },
  "node_modules/needed/node_modules/asked": { version: "2.0.0" },
  ...(!args.includes("--workspaces=false") && {
    "node_modules/asked": { version: "1.0.0" },
    "node_modules/for-tests": { version: "1.0.0" },
    "node_modules/gateway-tests": { resolved: "test", link: true },
  }),
};
for (const path of Object.keys(packages)) mkdirSync(path, { recursive: true });
writeFileSync("node_modules/.package-lock.json", JSON.stringify({ packages }));
`;

const BUILD = `
import stamp from "./stamp.cjs";
stamp.write(process.cwd(), stamp.fingerprint(process.cwd()));
`;

interface Clone {
  readonly dir: string;
  write(path: string, text: string): void;
  setup(...args: readonly string[]): { readonly status: number | null; readonly stderr: string };
  /** Starts one that runs beside others. */
  begin(): Begun;
}

interface Begun {
  readonly pid: number | undefined;
  /** Resolves when it has printed this. */
  readonly waitForOutput: (what: RegExp) => Promise<void>;
  readonly ended: Promise<number | null>;
  readonly kill: () => void;
}

function clone(t: TestContext, more: Readonly<Record<string, string>> = {}): Clone {
  const dir = mkdtempSync(join(tmpdir(), "gateway setup "));
  t.after(() => rmSync(dir, { recursive: true }));
  const write = (path: string, text: string) => writeFileSync(join(dir, path), text);
  for (const folder of ["bin", "src"]) mkdirSync(join(dir, folder));
  for (const file of ["setup.cjs", "packages.cjs", "stamp.cjs", "lock.cjs", "package.json"])
    cpSync(join("bin", file), join(dir, "bin", file));
  write("bin/build.mjs", BUILD);
  write("src/main.ts", "");
  write("package.json", "{}");
  write("package-lock.json", JSON.stringify({ packages: LOCKED }));
  write("npm-cli.js", NPM);
  const env = { ...process.env, npm_execpath: join(dir, "npm-cli.js"), NODE_ENV: "production", ...more };
  return {
    dir,
    write,
    begin() {
      const child = spawn(process.execPath, [join(dir, "bin", "setup.cjs")], {
        env,
        stdio: ["ignore", "ignore", "pipe"],
      });
      t.after(() => child.kill("SIGKILL"));
      let output = "";
      child.stderr.on("data", (text: Buffer) => {
        output += String(text);
      });
      return {
        pid: child.pid,
        async waitForOutput(what) {
          while (!what.test(output)) await once(child.stderr, "data", { signal: AbortSignal.timeout(60_000) });
        },
        ended: once(child, "exit").then(([status]) => status as number | null),
        kill: () => void child.kill("SIGKILL"),
      };
    },
    setup(...args) {
      // Runs elsewhere, since npm need not have been called in the root.
      const ran = spawnSync(process.execPath, [join(dir, "bin", "setup.cjs"), ...args], {
        cwd: tmpdir(),
        env,
        encoding: "utf8",
      });
      assert.equal(ran.stdout, "");
      return { status: ran.status, stderr: ran.stderr.replace(/\d+\.\d s/g, "0.0 s") };
    },
  };
}

const INSTALLED = "setup: installing all packages (npm ci) ... 0.0 s\n";
const INSTALLED_FOR_START = "setup: installing the packages that the program needs (npm ci) ... 0.0 s\n";
const BUILT = "setup: building ... 0.0 s\n";

test("a fresh clone is installed, development dependencies included, and built", (t) => {
  const it = clone(t);
  assert.deepEqual(it.setup(), { status: 0, stderr: INSTALLED + BUILT });
  assert.match(readFileSync(join(it.dir, "npm-args"), "utf8"), /^ci --include=dev /);
});

test("a start installs what the build needs, and the first test installs the rest", (t) => {
  const it = clone(t);
  assert.deepEqual(it.setup("start"), { status: 0, stderr: INSTALLED_FOR_START + BUILT });
  assert.match(readFileSync(join(it.dir, "npm-args"), "utf8"), /^ci --include=dev --workspaces=false /);
  assert.deepEqual(it.setup("start"), { status: 0, stderr: "" });
  assert.deepEqual(it.setup(), { status: 0, stderr: INSTALLED });
  for (const args of [[], ["start"]]) assert.deepEqual(it.setup(...args), { status: 0, stderr: "" });
});

test("a package that only tests need may be missing at a start", (t) => {
  const it = clone(t);
  it.setup();
  rmSync(join(it.dir, "node_modules/for-tests"), { recursive: true });
  assert.deepEqual(it.setup("start"), { status: 0, stderr: "" });
  rmSync(join(it.dir, "node_modules/needed/node_modules/asked"), { recursive: true });
  assert.deepEqual(it.setup("start"), { status: 0, stderr: INSTALLED_FOR_START });
});

test("a ready clone is left unchanged, silently", (t) => {
  const it = clone(t);
  it.setup();
  it.write("npm-cli.js", "process.exit(9)");
  assert.deepEqual(it.setup(), { status: 0, stderr: "" });
});

test("any change of source causes a build: newer, older, added or removed files", (t) => {
  const it = clone(t);
  it.setup();
  const changes = [
    () => it.write("src/main.ts", "1;"),
    () => utimesSync(join(it.dir, "src/main.ts"), new Date(0), new Date(0)),
    () => it.write("src/added.ts", ""),
    () => rmSync(join(it.dir, "src/added.ts")),
    () => rmSync(join(it.dir, "dist"), { recursive: true }),
  ];
  for (const change of changes) {
    change();
    assert.deepEqual(it.setup(), { status: 0, stderr: BUILT });
  }
});

test("a lock file with another version causes an install", (t) => {
  const it = clone(t);
  it.setup();
  const path = join(it.dir, "node_modules/.package-lock.json");
  const installed = readFileSync(path, "utf8");
  it.write("node_modules/.package-lock.json", installed.replace('"version":"2.0.0"', '"version":"1.9.0"'));
  assert.deepEqual(it.setup(), { status: 0, stderr: INSTALLED });
});

test("a missing package causes an install, and a missing optional one does not", (t) => {
  const it = clone(t);
  it.setup();
  rmSync(join(it.dir, "node_modules/needed"), { recursive: true });
  assert.deepEqual(it.setup(), { status: 0, stderr: INSTALLED });
});

test("a failed install prints npm's output and the remedy", (t) => {
  const it = clone(t);
  const cases: readonly (readonly [stderr: string, advice: RegExp])[] = [
    ["npm error network", /^Is the package registry reachable from here\? Behind a proxy set HTTPS_PROXY;/],
    [
      "npm error code ENOTFOUND\\nnpm error request to https://npm.example.com/needed failed",
      /^Is https:\/\/npm\.example\.com reachable from here\?/,
    ],
    [
      "npm error code EROFS\\nnpm error path /srv/npm/_cacache/tmp",
      /^npm cannot write \/srv\/npm\/_cacache\/tmp: name a folder that it may use, npm_config_cache=/,
    ],
    [
      `npm error code EACCES\\nnpm error path ${it.dir}/node_modules/needed`,
      /^.* cannot be written: start it in a copy that you may write to\.$/,
    ],
    ["npm error code ENOSPC\\nnpm error path /tmp/x", /^The disk is full at \/tmp\/x: free some space/],
    ["npm error code E401", /^The package registry refuses the credentials in your \.npmrc/],
    ["npm error code EINTEGRITY", /^A package is not what package-lock\.json says/],
  ];
  for (const [text, advice] of cases) {
    it.write("npm-cli.js", `console.error("npm http fetch GET 200 one\\n${text}"); process.exit(7)`);
    const { status, stderr } = it.setup();
    assert.equal(status, 1);
    const [first, ...lines] = stderr.trimEnd().split("\n");
    assert.equal(first, "setup: installing all packages (npm ci) ... failed (status 7)");
    assert.deepEqual(lines.slice(0, -1).join("\\n"), text);
    assert.match(lines.at(-1)?.replace(/^setup: /, "") ?? "", advice);
  }
});

test("an install without progress is killed, and one that continues for longer is not", (t) => {
  const it = clone(t, { GATEWAY_SETUP_STALL_MS: "2000" });
  const failing = "npm http fetch GET https://npm.example.com/needed attempt 1 failed with EAI_AGAIN";
  it.write("npm-cli.js", `setInterval(() => console.error("${failing}"), 50);`);
  const { status, stderr } = it.setup();
  assert.equal(status, 1);
  assert.match(
    stderr,
    /setup: fetch GET https:\/\/npm\.example\.com\/needed attempt 1 failed with EAI_AGAIN; trying again \.\.\. /,
  );
  assert.match(stderr, /failed \(no progress for 2 s\)\n/);
  assert.match(stderr, /setup: Is https:\/\/npm\.example\.com reachable from here\?/);

  const slow = `const going = setInterval(() => console.error("npm http fetch GET 200 one"), 100);
    setTimeout(() => { clearInterval(going); ${NPM} }, 1_000);`;
  it.write("npm-cli.js", slow.replace("const { mkdirSync, writeFileSync }", "var { mkdirSync, writeFileSync }"));
  assert.deepEqual(it.setup(), { status: 0, stderr: INSTALLED + BUILT });
});

test("a failed build prints its errors and is tried again", (t) => {
  const it = clone(t);
  it.write("bin/build.mjs", 'console.error("src/main.ts: no such name"); process.exit(1)');
  const result =
    "setup: building ... failed (status 1)\nsrc/main.ts: no such name\nsetup: The errors above are in the source.\n";
  assert.deepEqual(it.setup(), { status: 1, stderr: INSTALLED + result });
  assert.deepEqual(it.setup(), { status: 1, stderr: result });
});

/** Fails if another one is running, and leaves a marker file once it may continue. */
const SLOW_BUILD = `
import { appendFileSync, existsSync, rmSync, writeFileSync } from "node:fs";
import stamp from "./stamp.cjs";
writeFileSync("under-way", "", { flag: "wx" });
while (!existsSync("go-on")) await new Promise((resolve) => setTimeout(resolve, 20));
rmSync("under-way");
appendFileSync("builds", "built;");
stamp.write(process.cwd(), stamp.fingerprint(process.cwd()));
`;

const NEVER_DONE = `
import { existsSync } from "node:fs";
while (!existsSync("go-on")) await new Promise((resolve) => setTimeout(resolve, 20));
`;

test("of several concurrent starts one builds, and the others wait for it", async (t) => {
  const it = clone(t);
  it.write("bin/build.mjs", SLOW_BUILD);
  const first = it.begin();
  await first.waitForOutput(/building/);
  const others = [it.begin(), it.begin(), it.begin()];
  await Promise.all(others.map(({ waitForOutput }) => waitForOutput(new RegExp(`waiting .*process ${first.pid}\\)`))));
  it.write("go-on", "");
  assert.deepEqual(await Promise.all([first, ...others].map(({ ended }) => ended)), [0, 0, 0, 0]);
  assert.equal(readFileSync(join(it.dir, "builds"), "utf8"), "built;");
  assert.ok(!existsSync(join(it.dir, ".setup.lock")));
});

test("the leftovers of a killed start are taken over by one that waits", async (t) => {
  const it = clone(t);
  it.write("bin/build.mjs", NEVER_DONE);
  const killed = it.begin();
  await killed.waitForOutput(/building/);
  const others = [it.begin(), it.begin(), it.begin()];
  await Promise.all(others.map(({ waitForOutput }) => waitForOutput(/waiting/)));
  killed.kill();
  it.write("bin/build.mjs", SLOW_BUILD);
  it.write("go-on", "");
  assert.deepEqual(await Promise.all(others.map(({ ended }) => ended)), [0, 0, 0]);
  assert.equal(existsSync(join(it.dir, ".setup.lock")), false);
  it.write(".setup.lock", "");
  utimesSync(join(it.dir, ".setup.lock"), new Date(0), new Date(0));
  rmSync(join(it.dir, "dist"), { recursive: true });
  assert.equal(it.setup().status, 0);
});
