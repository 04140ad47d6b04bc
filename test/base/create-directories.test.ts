import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createDirectories } from "../../src/base/index.ts";

const folder = mkdtempSync(join(tmpdir(), "gateway-directories-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("a directory is created with its parents for the owner, and an existing one keeps its mode", () => {
  const path = join(folder, "a", "b", "c");
  createDirectories(path, 0o700);
  assert.equal(statSync(path).mode & 0o777, 0o700);
  assert.equal(statSync(join(folder, "a")).mode & 0o777, 0o700);
  mkdirSync(join(folder, "open"));
  const before = statSync(join(folder, "open")).mode;
  createDirectories(join(folder, "open"), 0o700);
  assert.equal(statSync(join(folder, "open")).mode, before);
});

test("a link to a directory counts as one, and a link to nothing or a file is named", () => {
  symlinkSync(join(folder, "a"), join(folder, "there"));
  createDirectories(join(folder, "there", "new"), 0o700);
  assert.ok(statSync(join(folder, "a", "new")).isDirectory());
  symlinkSync(join(folder, "absent"), join(folder, "gone"));
  const gone = /gone is a symbolic link to something that does not exist$/;
  assert.throws(() => createDirectories(join(folder, "gone"), 0o700), gone);
  assert.throws(() => createDirectories(join(folder, "gone", "data"), 0o700), gone);
  writeFileSync(join(folder, "file"), "");
  assert.throws(() => createDirectories(join(folder, "file"), 0o700), /file is not a directory$/);
  assert.throws(() => createDirectories(join(folder, "file", "data"), 0o700), /file is not a directory$/);
});

test("a file system that lets nobody make a directory ends in an error, not in a loop", {
  skip: process.platform !== "linux" && "needs /proc",
}, () => {
  assert.throws(() => createDirectories("/proc/gateway-absent/data", 0o700), { code: "ENOENT" });
});
