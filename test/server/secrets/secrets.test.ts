/**
 * Secret files on a real disk, and sealed secrets behind them: reading, refusals, and changes noticed by the watch.
 * Time is a function here.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  createSealedSecrets,
  openSecrets,
  planDeleteSecret,
  planPutSecret,
  planRewrap,
  type Schedule,
} from "../../../src/server/secrets/index.ts";
import { NOW, openState } from "./cluster.ts";

function makeDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), "gateway-secrets-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A schedule that advances when `tick` is called. */
function manual(): { readonly schedule: Schedule; tick(): void; readonly running: number; readonly everyMs: number[] } {
  const runs = new Set<() => void>();
  const everyMs: number[] = [];
  return {
    schedule(run, every) {
      everyMs.push(every);
      runs.add(run);
      return () => runs.delete(run);
    },
    tick() {
      for (const run of runs) run();
    },
    get running() {
      return runs.size;
    },
    everyMs,
  };
}

function problemOf(lookup: ReturnType<ReturnType<typeof openSecrets>["secret"]>): string {
  assert.ok(lookup.kind === "problem");
  return lookup.message;
}

test("a value is the content of its file without trailing newlines, and nothing else is removed", (t) => {
  const dir = makeDir(t);
  const secrets = openSecrets({ dir });
  for (const [content, value] of [
    ["sk-1", "sk-1"],
    ["sk-1\n", "sk-1"],
    ["sk-1\r\n\n\n", "sk-1"],
    [" a\nb \n", " a\nb "],
    ["a\r", "a\r"],
    ["\n\n", ""],
    ["", ""],
    ["h\u00e9\u{1f600}\n", "h\u00e9\u{1f600}"],
  ] as const) {
    writeFileSync(join(dir, "token"), content);
    assert.deepEqual(secrets.secret("token"), { kind: "value", value });
    assert.deepEqual(secrets.file("token"), { kind: "value", value });
  }
});

test("a name is one file name: paths are refused without touching the disk", (t) => {
  const dir = makeDir(t);
  mkdirSync(join(dir, "inner"));
  writeFileSync(join(dir, "inner", "token"), "x");
  const secrets = openSecrets({ dir: join(dir, "inner") });
  for (const name of [
    "",
    ".",
    "..",
    "../inner/token",
    "./token",
    "/etc/hostname",
    "a\\b",
    "a\u0000b",
    "a\nb",
    "x".repeat(256),
  ]) {
    assert.match(problemOf(secrets.secret(name)), /is not a file name/, JSON.stringify(name));
    assert.match(problemOf(secrets.file(name)), /is not a file name/, JSON.stringify(name));
  }
  assert.deepEqual(secrets.secret("token"), { kind: "value", value: "x" });
});

test("without secrets_dir every reference is refused, and the key to set is named", () => {
  const secrets = openSecrets({ dir: undefined });
  assert.match(problemOf(secrets.secret("token")), /\$\{secret:…\} needs secrets_dir/);
  assert.match(problemOf(secrets.file("prompt")), /\$\{file:…\} needs secrets_dir/);
});

test("a missing file is distinguished from an unusable one", (t) => {
  const dir = makeDir(t);
  mkdirSync(join(dir, "folder"));
  const secrets = openSecrets({ dir });
  const missing = secrets.secret("token");
  assert.ok(missing.kind === "problem" && missing.missing);
  assert.match(missing.message, /there is no file "token" in secrets_dir/);
  const folder = secrets.secret("folder");
  assert.ok(folder.kind === "problem" && !folder.missing);
  assert.match(folder.message, /is not a regular file/);
});

test("a secret is at most 64 KiB and a file 1 MiB; one byte more is refused", (t) => {
  const dir = makeDir(t);
  const secrets = openSecrets({ dir });
  writeFileSync(join(dir, "at"), "a".repeat(65_536));
  writeFileSync(join(dir, "over"), "a".repeat(65_537));
  writeFileSync(join(dir, "file-at"), "a".repeat(1_048_576));
  writeFileSync(join(dir, "file-over"), "a".repeat(1_048_577));
  assert.equal(secrets.secret("at").kind, "value");
  assert.match(problemOf(secrets.secret("over")), /larger than 65536 bytes/);
  assert.equal(secrets.file("over").kind, "value");
  assert.equal(secrets.file("file-at").kind, "value");
  assert.match(problemOf(secrets.file("file-over")), /larger than 1048576 bytes/);
});

test("a named pipe is refused at once and not waited for", { skip: process.platform === "win32" }, (t) => {
  const dir = makeDir(t);
  execFileSync("mkfifo", [join(dir, "pipe")]);
  assert.match(problemOf(openSecrets({ dir }).secret("pipe")), /is not a regular file/);
});

test("binary content is refused, and a problem quotes none of it", (t) => {
  const dir = makeDir(t);
  writeFileSync(join(dir, "binary"), Buffer.concat([Buffer.from("canary"), Buffer.from([0xff, 0xfe])]));
  const message = problemOf(openSecrets({ dir }).secret("binary"));
  assert.match(message, /is not UTF-8 text/);
  assert.doesNotMatch(message, /canary/);
});

test("an unreadable file is reported as such", { skip: process.getuid?.() === 0 }, (t) => {
  const dir = makeDir(t);
  writeFileSync(join(dir, "token"), "x");
  chmodSync(join(dir, "token"), 0);
  assert.match(
    problemOf(openSecrets({ dir }).secret("token")),
    /is not readable for the user that the gateway runs as \(EACCES\)/,
  );
});

test("links are followed, as orchestrators mount secrets, and a replaced link is noticed", (t) => {
  const dir = makeDir(t);
  for (const [generation, value] of [
    ["..1", "old"],
    ["..2", "new"],
  ] as const) {
    mkdirSync(join(dir, generation));
    writeFileSync(join(dir, generation, "token"), value);
  }
  symlinkSync("..1", join(dir, "..data"));
  symlinkSync("..data/token", join(dir, "token"));
  const secrets = openSecrets({ dir });
  assert.deepEqual(secrets.secret("token"), { kind: "value", value: "old" });
  const time = manual();
  const changes: (readonly string[])[] = [];
  secrets.watch({
    used: { secrets: ["token"], files: [] },
    onChange: (it) => changes.push(it),
    schedule: time.schedule,
  });
  symlinkSync("..2", join(dir, "..data_tmp"));
  renameSync(join(dir, "..data_tmp"), join(dir, "..data"));
  time.tick();
  assert.deepEqual(changes, [["secret:token"]]);
  assert.deepEqual(secrets.secret("token"), { kind: "value", value: "new" });
});

test("all changes between two checks are one call, and an unchanged set is none", (t) => {
  const dir = makeDir(t);
  for (const name of ["a", "b", "c"]) writeFileSync(join(dir, name), "1");
  const time = manual();
  const changes: (readonly string[])[] = [];
  openSecrets({ dir }).watch({
    used: { secrets: ["a", "b"], files: ["b", "c"] },
    onChange: (it) => changes.push(it),
    schedule: time.schedule,
  });
  assert.deepEqual(time.everyMs, [10_000]);
  time.tick();
  assert.deepEqual(changes, []);
  for (const name of ["b", "c"]) writeFileSync(join(dir, name), "2");
  time.tick();
  time.tick();
  assert.deepEqual(changes, [["secret:b", "file:b", "file:c"]]);
});

test("content counts and modification time does not", (t) => {
  const dir = makeDir(t);
  const path = join(dir, "token");
  writeFileSync(path, "aaaa");
  utimesSync(path, 1_000, 1_000);
  const time = manual();
  let changes = 0;
  const used = { secrets: ["token"], files: [] };
  openSecrets({ dir }).watch({ used, onChange: () => changes++, schedule: time.schedule });
  utimesSync(path, 2_000, 2_000);
  time.tick();
  assert.equal(changes, 0);
  writeFileSync(path, "bbbb");
  utimesSync(path, 2_000, 2_000);
  time.tick();
  assert.equal(changes, 1);
});

test("a change between the lookup and the start of the watch is not lost", (t) => {
  const dir = makeDir(t);
  writeFileSync(join(dir, "token"), "1");
  const secrets = openSecrets({ dir });
  secrets.secret("token");
  writeFileSync(join(dir, "token"), "2");
  const time = manual();
  let changes = 0;
  secrets.watch({ used: { secrets: ["token"], files: [] }, onChange: () => changes++, schedule: time.schedule });
  time.tick();
  assert.equal(changes, 1);
});

test("a file that disappears briefly is reported once, keeps its value, and is compared by content on its return", (t) => {
  const dir = makeDir(t);
  const path = join(dir, "token");
  writeFileSync(path, "1");
  const time = manual();
  const problems: string[] = [];
  let changes = 0;
  openSecrets({ dir }).watch({
    used: { secrets: ["token"], files: [] },
    onChange: () => changes++,
    onProblem: (message) => problems.push(message),
    schedule: time.schedule,
  });
  rmSync(path);
  time.tick();
  time.tick();
  assert.equal(problems.length, 1);
  assert.match(problems[0] as string, /secret:token: there is no file "token".*last value stays in force/);
  writeFileSync(path, "1");
  time.tick();
  assert.equal(changes, 0);
  rmSync(path);
  time.tick();
  assert.equal(problems.length, 2);
  writeFileSync(path, "2");
  time.tick();
  assert.equal(changes, 1);
});

test("a change that cannot be applied is reported with its error, and the watch continues", (t) => {
  const dir = makeDir(t);
  writeFileSync(join(dir, "token"), "1");
  const time = manual();
  const errors: unknown[] = [];
  const failure = new Error("would not compile");
  openSecrets({ dir }).watch({
    used: { secrets: ["token"], files: [] },
    onChange: () => {
      throw failure;
    },
    onProblem: (_message, error) => errors.push(error),
    schedule: time.schedule,
  });
  writeFileSync(join(dir, "token"), "2");
  time.tick();
  writeFileSync(join(dir, "token"), "3");
  time.tick();
  assert.deepEqual(errors, [failure, failure]);
});

test("closing or the signal ends the watch, and an empty set starts none", (t) => {
  const dir = makeDir(t);
  writeFileSync(join(dir, "token"), "1");
  const secrets = openSecrets({ dir });
  const time = manual();
  const stop = new AbortController();
  const base = { used: { secrets: ["token"], files: [] }, onChange: () => {}, schedule: time.schedule };
  const closed = secrets.watch(base);
  secrets.watch({ ...base, signal: stop.signal });
  assert.equal(time.running, 2);
  closed.close();
  closed.close();
  assert.equal(time.running, 1);
  stop.abort();
  assert.equal(time.running, 0);
  secrets.watch({ ...base, signal: stop.signal });
  secrets.watch({ ...base, used: { secrets: [], files: [] } });
  assert.equal(time.running, 0);
});

test("a secret is looked up in secrets_dir first, then among the sealed ones; files are never sealed", (t) => {
  const dir = makeDir(t);
  const { run, node } = openState();
  for (const name of ["both", "sealed-only"]) run(planPutSecret(name, "from the cluster", node(), NOW));
  writeFileSync(join(dir, "both"), "from the file");
  mkdirSync(join(dir, "folder"));
  run(planPutSecret("folder", "from the cluster", node(), NOW));
  const secrets = openSecrets({ dir, sealed: createSealedSecrets(node()) });
  assert.deepEqual(secrets.secret("both"), { kind: "value", value: "from the file" });
  assert.deepEqual(secrets.secret("sealed-only"), { kind: "value", value: "from the cluster" });
  assert.match(problemOf(secrets.secret("folder")), /is not a regular file/);
  assert.match(
    problemOf(secrets.secret("none")),
    /there is no file "none" in secrets_dir .*, and there is no sealed secret/,
  );
  assert.match(problemOf(secrets.file("sealed-only")), /there is no file "sealed-only"/);

  const clusterOnly = openSecrets({ dir: undefined, sealed: createSealedSecrets(node()) });
  assert.deepEqual(clusterOnly.secret("both"), { kind: "value", value: "from the cluster" });
  assert.equal(problemOf(clusterOnly.secret("none")), 'there is no sealed secret "none"');
  assert.match(problemOf(clusterOnly.file("both")), /needs secrets_dir/);
});

test("a changed sealed secret is noticed like a changed file; a rewrap or reseal is not a change", (t) => {
  const dir = makeDir(t);
  const { run, node } = openState();
  run(planPutSecret("token", "1", node(), NOW));
  const moving = node({ clusters: ["c2", "c1"] });
  const secrets = openSecrets({ dir, sealed: createSealedSecrets(moving) });
  secrets.secret("token");
  const time = manual();
  const changes: (readonly string[])[] = [];
  const problems: string[] = [];
  secrets.watch({
    used: { secrets: ["token"], files: [] },
    onChange: (changed) => changes.push(changed),
    onProblem: (message) => problems.push(message),
    schedule: time.schedule,
  });
  assert.deepEqual(run(planRewrap(moving)), ["ring.rewrap", "secret.reseal"]);
  time.tick();
  assert.deepEqual(changes, []);
  run(planPutSecret("token", "2", moving, NOW));
  time.tick();
  time.tick();
  assert.deepEqual(changes, [["secret:token"]]);
  writeFileSync(join(dir, "token"), "3");
  time.tick();
  assert.equal(changes.length, 2);
  rmSync(join(dir, "token"));
  run(planDeleteSecret("token", moving));
  time.tick();
  assert.match(
    problems.join(),
    /^secret:token: there is no file .* and there is no sealed secret "token"; its last value stays/,
  );
});
