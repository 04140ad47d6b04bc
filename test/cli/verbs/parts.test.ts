/**
 * `gateway parts` in a process of its own, since Node.js reads NODE_PATH at startup. Needs a build, which `npm test`
 * makes.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { installCommand, OPTIONAL_PACKAGES } from "../../../src/base/index.ts";

const skip = existsSync("dist/cli/main.js") ? false : "not built";
/** Packages installed into this clone take precedence. */
const isOwn = OPTIONAL_PACKAGES.some(({ name }) => existsSync(join("node_modules", name)));

interface Listed {
  readonly name: string;
  readonly state: string;
  readonly version?: string;
  readonly reason?: string;
  readonly install: string;
}

function parts(t: TestContext, packages: Readonly<Record<string, readonly [version: string, code: string]>>) {
  const dir = mkdtempSync(join(tmpdir(), "gateway parts "));
  t.after(() => rmSync(dir, { recursive: true }));
  for (const [name, [version, code]] of Object.entries(packages)) {
    mkdirSync(join(dir, name));
    writeFileSync(join(dir, name, "package.json"), JSON.stringify({ name, version }));
    writeFileSync(join(dir, name, "index.js"), code);
  }
  return (...args: readonly string[]) => {
    const env = { ...process.env, HOME: dir, NODE_PATH: dir };
    const { status, stdout, stderr } = spawnSync(process.execPath, [resolve("bin/gateway"), "parts", ...args], {
      encoding: "utf8",
      env,
    });
    assert.equal(stderr, "");
    assert.equal(status, 0);
    return stdout;
  };
}

test("a missing package is listed with what needs it and the install command", {
  skip: skip || (isOwn && "some are installed in this clone"),
}, (t) => {
  const run = parts(t, {});
  const listed = JSON.parse(run("-o", "json")) as { readonly parts: readonly Listed[] };
  assert.deepEqual(
    listed.parts.map(({ name, state, install }) => ({ name, state, install })),
    OPTIONAL_PACKAGES.map(({ name }) => ({ name, state: "missing", install: installCommand(name) })),
  );
  const text = run();
  for (const { name, serves } of OPTIONAL_PACKAGES) {
    assert.ok(
      text.includes(`${name}: not installed\n  serves   ${serves}\n  install  ${installCommand(name)}\n`),
      text,
    );
  }
});

test("an installed package is loaded: a failure is reported, and another version is named", {
  skip: skip || (isOwn && "some are installed in this clone"),
}, (t) => {
  const [re2, onnx] = OPTIONAL_PACKAGES;
  const run = parts(t, {
    re2: [re2?.version ?? "", "module.exports = 1;"],
    "onnxruntime-node": [onnx?.version ?? "", 'throw new Error("libonnxruntime.so.1: no such \\u001b[31mfile");'],
    tokenizers: ["0.1.0", "module.exports = 1;"],
  });
  const listed = JSON.parse(run("-o", "json")) as { readonly parts: readonly Listed[] };
  assert.deepEqual(
    listed.parts.map(({ name, state, version }) => [name, state, version]),
    [
      ["re2", "ready", re2?.version],
      ["onnxruntime-node", "broken", onnx?.version],
      ["tokenizers", "ready", "0.1.0"],
    ],
  );
  const text = run();
  assert.match(text, /^re2 [\d.]+: ready\n {2}serves {3}.*\n {2}folder {3}.*\n\nonnxruntime-node/);
  assert.match(text, /onnxruntime-node [\d.]+: installed, and does not load\n/);
  assert.match(text, /^ {2}reason {3}Error: libonnxruntime\.so\.1: no such \S*\[31mfile$/m);
  assert.ok(!text.includes("\u001b"));
  assert.match(text, /^tokenizers 0\.1\.0: ready \(this build is tested with [\d.]+\)\n/m);
});

test("a package whose library ends the process is reported as not loading", {
  skip: skip || (isOwn && "some are installed in this clone"),
}, (t) => {
  const run = parts(t, { re2: ["1.24.0", 'process.kill(process.pid, "SIGKILL");'] });
  assert.match(run(), /^re2 1\.24\.0: installed, and does not load\n.*\n.*\n {2}reason {3}its process ended: /);
});
