/**
 * Bundles test files into JavaScript before they run: all at once, with shared code split out. Compiling modules at
 * load time costs more than most test files take to run.
 *
 * `import.meta.url` and similar properties name the source, so a test finds the data next to it.
 */

import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, transform } from "esbuild";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

const placesOfSources = {
  name: "places-of-sources",
  setup({ onLoad }) {
    onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const loader = path.endsWith("x") ? "tsx" : "ts";
      if (!text.includes("import.meta.")) return { contents: text, loader };
      const { code } = await transform(text, {
        loader,
        jsx: "automatic",
        target: "node20",
        sourcefile: path,
        sourcemap: "inline",
        define: {
          "import.meta.url": JSON.stringify(pathToFileURL(path).href),
          "import.meta.dirname": JSON.stringify(dirname(path)),
          "import.meta.filename": JSON.stringify(path),
        },
      });
      return { contents: code, loader: "js" };
    });
  },
};

/** Replaces the package with the shortened fast-check. */
const lengthOfProperties = {
  name: "length-of-properties",
  setup({ onResolve }) {
    const path = join(root, "test/runner/fast-check.mjs");
    onResolve({ filter: /^fast-check$/ }, ({ importer }) => (importer === path ? undefined : { path }));
  },
};

/** Calls that start a test program in a child process (test/support/child-program.ts). */
const CHILD = /\bchild(?:Program|Args)\(\s*"([^"]+)",\s*import\.meta\.url/g;

/** Returns the child programs that test files name, relative to the project. */
function childPrograms() {
  const found = readdirSync(join(root, "test"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .flatMap(({ parentPath, name }) => {
      const text = readFileSync(join(parentPath, name), "utf8");
      return [...text.matchAll(CHILD)].map(([, path]) => relative(root, join(parentPath, path)));
    });
  return new Set(found.map((path) => path.split(sep).join("/")));
}

/**
 * Bundles test files (paths relative to the project), and the programs that tests start in child processes, into
 * `folder`. It must lie below node_modules, so that package imports resolve. Resolves with a map from each file's path
 * to its program, relative to the project.
 */
export async function bundle(files, folder) {
  await build({
    absWorkingDir: root,
    entryPoints: [...new Set([...files, ...childPrograms()])],
    outdir: folder,
    outbase: root,
    bundle: true,
    splitting: true,
    // Modules imported for their side effects stay, even though package.json marks the product's own as free of them.
    ignoreAnnotations: true,
    packages: "external",
    format: "esm",
    platform: "node",
    target: "node20",
    jsx: "automatic",
    sourcemap: "linked",
    sourcesContent: false,
    logLevel: "warning",
    plugins: [placesOfSources, lengthOfProperties],
  });
  return new Map(files.map((file) => [file, relative(root, join(folder, file.replace(/\.tsx?$/, ".js")))]));
}
