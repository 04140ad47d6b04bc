import assert from "node:assert/strict";
import { test } from "node:test";
import { versionLine } from "../../src/cli/build.ts";
import { execute } from "../../src/cli/main.ts";
import { FEATURE_RANGE } from "../../src/server/core/state/index.ts";
import { bufferIo } from "./buffer-io.ts";

const LEVELS = `feature levels 1 to ${FEATURE_RANGE.max}`;
const PLATFORM = `node ${process.versions.node}, ${process.platform}/${process.arch}`;

test("the line names build, commit, date, toolchain and platform", () => {
  const build = {
    version: "1.2.3",
    commit: "0123456789ab-dirty",
    date: "2026-01-02T03:04:05Z",
    bundler: "esbuild 9.9.9",
  };
  assert.equal(
    versionLine(build),
    `gateway 1.2.3, commit 0123456789ab-dirty, 2026-01-02T03:04:05Z, esbuild 9.9.9 on ${PLATFORM}`,
  );
});

test("a run from source says that it was not built", async () => {
  const io = bufferIo();
  assert.equal(await execute(["version"], io), 0);
  assert.equal(io.out(), `gateway 0.0.0, commit unknown, unknown, source on ${PLATFORM}, ${LEVELS}\n`);
});

test("the JSON names each part, including the runtime", async () => {
  for (const args of [
    ["version", "-json"],
    ["--version", "-json"],
  ]) {
    const io = bufferIo();
    assert.equal(await execute(args, io), 0);
    assert.deepEqual(JSON.parse(io.out()), {
      name: "gateway",
      ...{ version: "0.0.0", commit: "unknown", date: "unknown", bundler: "source" },
      ...{ node: process.versions.node, platform: process.platform, arch: process.arch },
      feature_levels: [1, FEATURE_RANGE.max],
    });
  }
});

test("the -version flag prints the same and takes no argument either", async () => {
  for (const flag of ["-version", "--version"]) {
    const io = bufferIo();
    assert.equal(await execute([flag], io), 0);
    assert.equal(io.out(), `gateway 0.0.0, commit unknown, unknown, source on ${PLATFORM}, ${LEVELS}\n`);
    const more = bufferIo();
    assert.equal(await execute([flag, "x"], more), 2);
    assert.match(more.err(), /^gateway version: takes no arguments\n/);
  }
});
