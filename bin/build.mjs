/**
 * `npm run build`: src/ to dist/ with esbuild. Dependencies stay outside; every verb, being loaded by `import()`, becomes
 * a file of its own. What only the build knows (commit, date) is written into the bundle for `gateway version`.
 *
 * The console is a bundle by itself that holds React and Ink: their 2,000 files take twice as long to load as one, and of
 * React only the production build may ever run (the other keeps a record of every frame).
 */

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build, version as esbuildVersion } from "esbuild";
import stamp from "./stamp.cjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");

/**
 * What is started by path: the process, and the threads. Each is bundled by itself: a file that two of them share would
 * bring along what only one of them needs, and a thread starts within the time of the process.
 */
const ENTRIES = [
  "src/cli/main.ts",
  "src/server/cluster/worker.ts",
  "src/server/audit/worker.ts",
  "src/server/audit/verify/worker.ts",
  "src/server/admin/query/worker.ts",
  "src/server/detectors/pii/pool/worker.ts",
  "src/server/detectors/inference/session/worker.ts",
];

const CONSOLE = "src/console/index.ts";

/** Keeps the console out of the bundle that opens it. */
const consoleApart = {
  name: "console-apart",
  setup(build) {
    // Every verb is a file at the top of dist/, as the pieces that esbuild splits off are.
    build.onResolve({ filter: /\/console\/index\.ts$/ }, () => ({ path: "./console/index.js", external: true }));
  },
};

/** One line of git's, or undefined where there is no git or no repository. */
function git(...args) {
  try {
    // Without optional locks, so that building never gets in the way of another git command.
    const env = { ...process.env, GIT_OPTIONAL_LOCKS: "0", TZ: "UTC" };
    return execFileSync("git", args, { cwd: root, env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return undefined;
  }
}

/** Also `unknown` when the tree lies unpacked inside another project's repository. */
function revision() {
  const prefix = git("rev-parse", "--show-prefix");
  const head =
    prefix === ""
      ? git("log", "-1", "--format=%h %cd", "--abbrev=12", "--date=format-local:%Y-%m-%dT%H:%M:%SZ")
      : undefined;
  if (head === undefined) return { commit: "unknown", date: "unknown" };
  const [commit, date] = head.split(" ");
  return { commit: git("status", "--porcelain") === "" ? commit : `${commit}-dirty`, date };
}

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const fingerprint = stamp.fingerprint(root);

/** A chunk that nothing refers to any longer must not stay behind. */
function removeAllBut(kept) {
  for (const entry of readdirSync(join(root, "dist"), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !kept.has(path)) rmSync(path);
  }
}

/** Ink loads React's developer tools where DEV says so; they are not installed, and the console does without. */
const noDeveloperTools = {
  name: "no-developer-tools",
  setup(build) {
    const namespace = "nothing";
    build.onResolve({ filter: /^react-devtools-core$/ }, ({ path }) => ({ path, namespace }));
    build.onLoad({ filter: /.*/, namespace }, () => ({
      contents: "export default { initialize() {}, connectToDevTools() {} };",
    }));
  },
};

const SHARED = {
  absWorkingDir: root,
  outbase: "src",
  outdir: "dist",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  sourcemap: "linked",
  sourcesContent: false,
  metafile: true,
  logLevel: "warning",
};

const DEFINED = {
  GATEWAY_BUILD: JSON.stringify({ version, ...revision(), bundler: `esbuild ${esbuildVersion}` }),
  GATEWAY_IS_BUILT: "true",
};

const bundle = (entry) =>
  build({ ...SHARED, entryPoints: [entry], packages: "external", plugins: [consoleApart], define: DEFINED });

const bundleConsole = () =>
  build({
    ...SHARED,
    entryPoints: [CONSOLE],
    chunkNames: "console/[name]-[hash]",
    // Packages written for CommonJS look for a `require` of their own.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    define: { ...DEFINED, "process.env.NODE_ENV": '"production"' },
    plugins: [noDeveloperTools],
  });

try {
  const bundles = await Promise.all([...ENTRIES.map(bundle), bundleConsole()]);
  const written = bundles.flatMap(({ metafile }) => Object.keys(metafile.outputs));
  removeAllBut(new Set(written.map((path) => join(root, path))));
  stamp.write(root, fingerprint);
} catch (error) {
  // Errors in the source have been printed by esbuild, with their place.
  if (!Array.isArray(error?.errors)) console.error(error);
  process.exitCode = 1;
}
