/**
 * Bundles with esbuild. Every verb, being loaded by `import()`, becomes a file of its own, as does each package that is loaded
 * so.
 *
 * The console is a bundle by itself that holds React and Ink: only React's production build may run, since the other keeps a
 * record of every frame.
 */

import { build } from "esbuild";
import { koffiFromDist } from "./koffi.mjs";
import { deferredParts } from "./lazy-constants.mjs";
import { namedExports } from "./named-exports.mjs";
import { besidesBundle } from "./native.mjs";
import { withoutUnused } from "./omit-unused.mjs";

/**
 * Programs, which use most of the server each. They are bundled together, so that what several of them load is in `dist/` once:
 * that takes 16 MB less.
 */
const PROGRAMS = [
  "src/cli/main.ts",
  "src/cli/console-trials/child.ts",
  // At the top of dist/, since what it starts and reads itself is found from there.
  { in: "src/server/node/worker/program.ts", out: "worker" },
];

/**
 * Threads, and the processes of models. Each is bundled by itself and holds only what it uses. A chunk that it shared with the
 * programs would hold all that any of them uses of the same modules: the thread of SQL would load five times as much.
 */
const THREADS = [
  "src/server/cluster/worker.ts",
  "src/server/audit/worker.ts",
  "src/server/audit/verify/worker.ts",
  "src/server/admin/query/worker.ts",
  "src/server/node/rehearsal/worker.ts",
  "src/server/detectors/pii/pool/worker.ts",
  "src/server/detectors/inference/session/child.ts",
  "src/server/detectors/inference/session/worker.ts",
  "src/server/workers/intake/worker.ts",
];

const CONSOLE = "src/console/index.ts";

/** Keeps the console out of the bundle that opens it. */
const consoleApart = {
  name: "console-apart",
  setup(build) {
    // Every verb is a file at the top of dist/, as are the chunks that esbuild splits off.
    build.onResolve({ filter: /\/console\/index\.ts$/ }, () => ({ path: "./console/index.js", external: true }));
  },
};

/** Names that CommonJS packages expect. Some ES modules define the last two themselves. */
const OF_COMMONJS = [
  'import { createRequire as $createRequire } from "node:module";',
  'import { dirname as $dirname } from "node:path";',
  'import { fileURLToPath as $fileURLToPath } from "node:url";',
  "const require = $createRequire(import.meta.url);",
  "const $filename = $fileURLToPath(import.meta.url), $folder = $dirname($filename);",
].join("\n");

const SHARED = {
  outbase: "src",
  outdir: "dist",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  metafile: true,
  logLevel: "warning",
  banner: { js: OF_COMMONJS },
  // Optional packages of ws, which works without them.
  external: ["bufferutil", "utf-8-validate"],
};

/**
 * Percentage by which esbuild's heap grows between garbage collections. At Go's default of 100 the collector takes a third of
 * the processor time of a build.
 */
const HEAP_GROWTH = "400";

/** Resolves with esbuild's metafile of each bundle. */
export async function bundleAll(root, built) {
  process.env.GOGC ??= HEAP_GROWTH;
  const define = {
    GATEWAY_BUILD: JSON.stringify(built),
    GATEWAY_IS_BUILT: "true",
    __filename: "$filename",
    __dirname: "$folder",
  };
  const shared = { ...SHARED, absWorkingDir: root };
  const plugins = [withoutUnused, namedExports, besidesBundle, koffiFromDist];
  const bundles = [
    ...[PROGRAMS, ...THREADS.map((entry) => [entry])].map((entryPoints) => ({
      ...shared,
      entryPoints,
      define,
      plugins: [consoleApart, ...plugins],
    })),
    {
      ...shared,
      entryPoints: [CONSOLE],
      chunkNames: "console/[name]-[hash]",
      define: { ...define, "process.env.NODE_ENV": '"production"' },
      plugins: [deferredParts, ...plugins],
    },
  ];
  // One after the other: each keeps all processors busy, and all at once need 2 GiB of memory and a third more processor time.
  const metafiles = [];
  for (const options of bundles) metafiles.push((await build(options)).metafile);
  return metafiles;
}
