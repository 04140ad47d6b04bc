/**
 * Starts a worker thread, from the build or from the sources.
 *
 * In the build each thread's module is a file of its own, bundled (`ENTRIES` of bin/build.mjs). From the sources it is
 * bundled the same way when this process first starts it, and kept below node_modules, where its imports of packages
 * resolve. A thread that compiled its modules as it loads them would need a loader: another thread, which it waits for at
 * every import, without a limit.
 */

import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parse } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker, type WorkerOptions } from "node:worker_threads";

/** The module of a thread, by both of its addresses: each relative to the `import.meta.url` of who starts it. */
export interface ThreadModule {
  /** Where it is in the sources: `new URL("./worker.ts", import.meta.url)`. */
  readonly source: URL;
  /** Where it is from the directory of the build's chunks: `new URL("./server/audit/worker.js", import.meta.url)`. */
  readonly built: URL;
}

/** True in the build, which so leaves out what follows from its absence, the bundler's name included. */
declare const GATEWAY_IS_BUILT: true | undefined;

/** From the sources `options.execArgv` is not heeded: a thread takes over neither a loader nor a preload of the process. */
export function startThread({ source, built }: ThreadModule, options: WorkerOptions = {}): Worker {
  return typeof GATEWAY_IS_BUILT === "undefined" && import.meta.url.endsWith(".ts")
    ? new Worker(bundled(source), { ...options, execArgv: ["--enable-source-maps"] })
    : new Worker(built, options);
}

/** The file of a module that is the program of a process of its own. */
export const programOf = ({ source, built }: ThreadModule): URL =>
  typeof GATEWAY_IS_BUILT === "undefined" && import.meta.url.endsWith(".ts") ? bundled(source) : built;

/** By the module's address. A change of the sources is seen by the next process, as it is in every other module. */
const bundles = new Map<string, URL>();

function bundled(source: URL): URL {
  const known = bundles.get(source.href);
  if (known !== undefined) return known;
  const made = bundle(source);
  bundles.set(source.href, made);
  return made;
}

/** Many processes may do so at once: a file that has its name is whole, and is the same whoever wrote it. */
function bundle(source: URL): URL {
  const root = new URL("../../", import.meta.url);
  const folder = new URL("node_modules/.cache/gateway/threads/", root);
  const path = fileURLToPath(source);
  const text = compile(path, fileURLToPath(root), fileURLToPath(folder));
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 16);
  const file = new URL(`${parse(path).name}-${digest}.mjs`, folder);
  if (existsSync(file)) return file;
  mkdirSync(folder, { recursive: true });
  const unfinished = new URL(`${process.pid}-${randomBytes(6).toString("hex")}.tmp`, folder);
  writeFileSync(unfinished, text);
  renameSync(unfinished, file);
  return file;
}

/** Synchronous, as `new Worker` is. The bundler is required here, since it is installed for development only. */
function compile(path: string, root: string, folder: string): Uint8Array {
  const { buildSync }: typeof import("esbuild") = createRequire(import.meta.url)("esbuild");
  const { outputFiles } = buildSync({
    absWorkingDir: root,
    entryPoints: [path],
    // For the source map, whose paths are relative; nothing is written.
    outdir: folder,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    packages: "external",
    sourcemap: "inline",
    sourcesContent: false,
    write: false,
    logLevel: "silent",
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`nothing was made of ${path}`);
  return output.contents;
}
