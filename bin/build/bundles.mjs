/**
 * Bundles the program with esbuild. Every module that is loaded by `import()`, such as a verb, becomes a separate file.
 *
 * The console is a separate bundle with React and Ink, because it must contain React's production build: the
 * development build keeps a record of every frame.
 */

import { build } from "esbuild";
import { koffiFromDist } from "./koffi.mjs";
import { deferredParts } from "./lazy-constants.mjs";
import { namedExports } from "./named-exports.mjs";
import { besidesBundle } from "./native.mjs";
import { withoutUnused } from "./omit-unused.mjs";

/**
 * Programs. Each uses most of the server, so they are bundled together: shared code is then in `dist/` only once, which
 * saves 16 MB.
 */
const PROGRAMS = [
  "src/cli/main.ts",
  "src/cli/console-trials/child.ts",
  // The output is at the top of dist/, because the program looks for its files relative to its own path.
  { in: "src/server/node/worker/program.ts", out: "worker" },
];

/**
 * Threads and child processes. Each is bundled separately and contains only what it uses. Chunks shared with the
 * programs would contain everything that any program uses of a module: the SQL thread would load five times as much.
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

/** Plugin that leaves the console out of the other bundles. */
const consoleApart = {
  name: "console-apart",
  setup(build) {
    // A relative path works, since every verb and every chunk is at the top of dist/.
    build.onResolve({ filter: /\/console\/index\.ts$/ }, () => ({ path: "./console/index.js", external: true }));
  },
};

/**
 * Code that defines the names that CommonJS packages expect. `__filename` and `__dirname` are replaced by other names,
 * because some ES modules define them themselves.
 */
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
  // Optional dependencies of ws, which works without them.
  external: ["bufferutil", "utf-8-validate"],
};

/**
 * Percentage by which esbuild's heap grows between garbage collections. With Go's default of 100, garbage collection
 * takes a third of a build's processor time.
 */
const HEAP_GROWTH = "400";

/** Builds all bundles. Returns esbuild's metafile of each. */
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
  // Built one after the other: each build uses all processors, and all at once would need 2 GiB of memory and a third
  // more processor time.
  const metafiles = [];
  for (const options of bundles) metafiles.push((await build(options)).metafile);
  return metafiles;
}
