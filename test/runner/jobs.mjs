/**
 * Lists the test files and decides which of them share a process.
 *
 * Starting a process takes longer than most tests of functions, so the files of an area run in one. A file that starts
 * processes or threads, uses the network or timers, or changes process-wide state has a process of its own.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/** Benchmarks are not tests, and data may look like test files. */
const NO_TESTS = new Set(["bench", "data"]);

/** Folders whose files share a process. */
const SHARED_FOLDERS = ["test/base", "test/bench-parts", "test/cli", "test/console", "test/server", "test/simulator"];

/** Areas whose folders have enough files for separate groups. The files of any other area form one group. */
const LARGE_AREAS = ["test/server/core", "test/console/views"];

/**
 * What a file must not use if it shares a process, directly or through a support file. Support files are not searched.
 */
const NEEDS_OWN_PROCESS =
  /from "(?:node:(?:child_process|worker_threads|net|http|https|os|timers|timers\/promises|test\/.*)|ink|react|\.{1,2}\/[^"]*(?:render|scene|terminal|e2e|peers)[^"]*)"|process\.(?:env|on|once|chdir)|mock\.|globalThis|memoryUsage|beforeEach|afterEach/;

/** A long process delays the end of the run, and a failure in it has more possible causes. */
const MAX_FILES_PER_JOB = 24;

/** Returns the test files under a path, or the path itself; relative to the project, with forward slashes. */
export function testFiles(path) {
  const absolute = resolve(root, path);
  if (!statSync(absolute).isDirectory()) return [relative(root, absolute).split(sep).join("/")];
  return readdirSync(absolute, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      if (entry.isDirectory()) return NO_TESTS.has(entry.name) ? [] : testFiles(join(absolute, entry.name));
      return /\.test\.tsx?$/.test(entry.name) ? testFiles(join(absolute, entry.name)) : [];
    });
}

/**
 * Groups files into jobs `{name, files}`: one per file, or one per folder that can share a process. Files for which
 * `isLong` returns true have their own.
 */
export function jobsOf(files, isLong) {
  const folders = new Map();
  const jobs = [];
  for (const file of files) {
    if (!isPure(file) || isLong(file)) jobs.push({ name: file, files: [file] });
    else folders.set(groupOf(file), [...(folders.get(groupOf(file)) ?? []), file]);
  }
  for (const [folder, members] of folders) {
    for (let at = 0; at < members.length; at += MAX_FILES_PER_JOB) {
      const files = members.slice(at, at + MAX_FILES_PER_JOB);
      const part = at === 0 ? "" : ` (${at / MAX_FILES_PER_JOB + 1})`;
      jobs.push({ name: files.length === 1 ? files[0] : `${folder}/*${part}`, files });
    }
  }
  return jobs;
}

/** Returns whether a file can share a process. */
function isPure(file) {
  const isShared = SHARED_FOLDERS.some((folder) => file.startsWith(`${folder}/`));
  return isShared && !NEEDS_OWN_PROCESS.test(readFileSync(join(root, file), "utf8"));
}

/**
 * Returns the folder that names a file's group: its own folder in a large area, otherwise one at most three levels
 * deep.
 */
function groupOf(file) {
  const folder = dirname(file);
  return LARGE_AREAS.some((area) => file.startsWith(`${area}/`)) ? folder : folder.split("/").slice(0, 3).join("/");
}

/**
 * Returns the path of a job's program. `programs` has the program of each file; for several files a program that loads
 * them is written into `folder`. Tests run after all files are loaded: a test that ran while its own file is still
 * being evaluated would find its constants undefined.
 */
export function programOf({ name, files }, programs, folder) {
  if (files.length === 1) return programs.get(files[0]);
  const path = join(folder, `${name.replace(/[^a-z0-9]+/g, "-")}.mjs`);
  const imports = files.map((file) => `await import(${JSON.stringify(join(root, programs.get(file)))});`);
  const gate = [
    'import { before } from "node:test";',
    "let open;",
    "before(() => new Promise((done) => (open = done)));",
  ];
  writeFileSync(path, `${[...gate, ...imports, "open();"].join("\n")}\n`);
  return path;
}
