/**
 * Starts a worker thread, from the build or from the sources.
 *
 * In the build, each thread's module is a separate bundled file (`ENTRIES` of bin/build.mjs). From the sources, it is
 * bundled in the same way when this process first starts it, and stored below node_modules, where its imports of
 * packages resolve. Compiling modules on load would need a loader: another thread, for which this one would wait at
 * every import, without a limit.
 */

import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parse } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker, type WorkerOptions } from "node:worker_threads";

/** Module of a thread, by its address in the sources and in the build, each relative to the caller's `import.meta.url`. */
export interface ThreadModule {
  /** Address in the sources: `new URL("./worker.ts", import.meta.url)`. */
  readonly source: URL;
  /** Address in the build, from the directory of its chunks: `new URL("./server/audit/worker.js", import.meta.url)`. */
  readonly built: URL;
}

/** True in the build, which omits the code for the sources, including the bundler's name. */
declare const GATEWAY_IS_BUILT: true | undefined;

/**
 * Starts a thread. From the sources, `options.execArgv` is ignored: the thread inherits neither loaders nor preloads of
 * the process.
 */
export function startThread({ source, built }: ThreadModule, options: WorkerOptions = {}): Worker {
  return typeof GATEWAY_IS_BUILT === "undefined" && import.meta.url.endsWith(".ts")
    ? new Worker(bundledUrl(source), { ...options, execArgv: ["--enable-source-maps"] })
    : new Worker(built, options);
}

/** Returns the file of a module that runs as a separate process. */
export const programUrl = ({ source, built }: ThreadModule): URL =>
  typeof GATEWAY_IS_BUILT === "undefined" && import.meta.url.endsWith(".ts") ? bundledUrl(source) : built;

/** Bundles by module address. A later process bundles again and so sees changed sources. */
const bundles = new Map<string, URL>();

function bundledUrl(source: URL): URL {
  const known = bundles.get(source.href);
  if (known !== undefined) return known;
  const url = bundle(source);
  bundles.set(source.href, url);
  return url;
}

/**
 * Bundles a module. Several processes may do so at once: a file under its final name is complete, and identical
 * whichever process wrote it.
 */
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

/** Compiles a bundle, synchronously like `new Worker`. The bundler is loaded here, since it is a development dependency. */
function compile(path: string, root: string, folder: string): Uint8Array {
  const { buildSync }: typeof import("esbuild") = createRequire(import.meta.url)("esbuild");
  const { outputFiles } = buildSync({
    absWorkingDir: root,
    entryPoints: [path],
    // Used only for the paths in the source map; nothing is written there.
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
  if (output === undefined) throw new Error(`esbuild produced no output for ${path}`);
  return output.contents;
}
