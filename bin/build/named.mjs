/**
 * A package in CommonJS that is loaded by `import()`: esbuild hands out its exports as `default` alone, where Node.js also
 * gives them by name. What their names are is asked of Node.js.
 */

// One of those packages does not load without it.
import "reflect-metadata";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";

const NAMESPACE = "named";

export const namedExports = {
  name: "named-exports",
  setup(build) {
    build.onResolve({ filter: /^[^./#]/ }, async ({ path, kind, resolveDir, pluginData }) => {
      if (kind !== "dynamic-import" || pluginData === NAMESPACE) return undefined;
      const found = await build.resolve(path, { kind, resolveDir, pluginData: NAMESPACE });
      if (found.external || found.namespace !== "file" || !isCommonJs(found.path)) return undefined;
      return { path: found.path, namespace: NAMESPACE };
    });
    build.onLoad({ filter: /.*/, namespace: NAMESPACE }, async ({ path }) => {
      const names = Object.keys(await import(pathToFileURL(path).href)).filter((it) =>
        /^(?!default$)[a-zA-Z_$][\w$]*$/.test(it),
      );
      const list = names.map((it) => `  ${it},`).join("\n");
      const contents = `const all = require(${JSON.stringify(path)});\nexport default all;\nexport const {\n${list}\n} = all;\n`;
      return { contents, resolveDir: dirname(path) };
    });
  },
};

/** Judges by the syntax of the file, as esbuild does: some packages ship ES modules that Node.js would not recognize as such. */
const isCommonJs = (path) => !/^(import|export)\b/m.test(readFileSync(path, "utf8"));
