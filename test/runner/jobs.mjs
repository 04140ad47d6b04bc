/**
 * Which test files there are, and which of them share a process.
 *
 * What is pure is tested by functions of their arguments, and starting a process costs more than most of those tests: the
 * files of a pure folder run in one. A file that starts processes or threads, or that touches the disk or the network,
 * has one of its own all the same.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/** Benchmarks are no tests, and data may look like one. */
const NO_TESTS = new Set(["bench", "data"]);

/** The folders whose files share a process, as `PURE_FOLDERS` of test/tidy/table.ts names them in src/. */
export const PURE_FOLDERS = [
  "test/base",
  "test/server/core",
  ...["model", "format", "edit", "workbench", "actions", "pages", "store", "draw", "views"].map(
    (folder) => `test/console/${folder}`,
  ),
];

/** What a file that shares a process may not import, by itself or through a support file, which is not looked into. */
const APART =
  /from "(?:node:(?:child_process|worker_threads|net|http|https|os|timers|timers\/promises|test\/.*)|ink|react|\.{1,2}\/[^"]*(?:render|scene|terminal)[^"]*)"|process\.(?:env|on|once|chdir)|mock\.|globalThis/;

/** A process that is too long holds up the end, and a failure in it is looked for among too many. */
const MOST_IN_ONE = 24;

/** The test files under a path, or the path itself; relative to the project, with forward slashes. */
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

/** Files as jobs `{name, files}`: one each, or a folder's that can share a process, but for those that `isLong` of. */
export function jobsOf(files, isLong) {
  const folders = new Map();
  const jobs = [];
  for (const file of files) {
    if (!isPure(file) || isLong(file)) jobs.push({ name: file, files: [file] });
    else folders.set(dirname(file), [...(folders.get(dirname(file)) ?? []), file]);
  }
  for (const [folder, members] of folders) {
    for (let at = 0; at < members.length; at += MOST_IN_ONE) {
      const files = members.slice(at, at + MOST_IN_ONE);
      const part = at === 0 ? "" : ` (${at / MOST_IN_ONE + 1})`;
      jobs.push({ name: files.length === 1 ? files[0] : `${folder}/*${part}`, files });
    }
  }
  return jobs;
}

export function isPure(file) {
  return (
    PURE_FOLDERS.some((folder) => file.startsWith(`${folder}/`)) && !APART.test(readFileSync(join(root, file), "utf8"))
  );
}

/**
 * Returns the path of a job's program, given the `programs` of its files, and writes one into `folder` if there are several
 * files. No test runs before all are loaded: one that ran while its own file is still being evaluated would find its
 * constants undefined.
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
