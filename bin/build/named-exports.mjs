/**
 * Named exports of CommonJS packages that are loaded by `import()`. esbuild exports only `default` for them, where Node.js also
 * exports their members by name. Loads the package to learn the names.
 */

// One of those packages does not load without this.
import "reflect-metadata";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";

const NAMESPACE = "named";

export const namedExports = {
  name: "named-exports",
  setup(build) {
    // Paths of this namespace are written into the bundle, and must not depend on the folder of the project.
    const root = build.initialOptions.absWorkingDir;
    build.onResolve({ filter: /^[^./#]/ }, async ({ path, kind, resolveDir, pluginData }) => {
      if (kind !== "dynamic-import" || pluginData === NAMESPACE) return undefined;
      const found = await build.resolve(path, { kind, resolveDir, pluginData: NAMESPACE });
      if (found.external || found.namespace !== "file" || !isCommonJs(found.path)) return undefined;
      return { path: relative(root, found.path), namespace: NAMESPACE };
    });
    build.onLoad({ filter: /.*/, namespace: NAMESPACE }, async ({ path: place }) => {
      const path = join(root, place);
      const names = Object.keys(await import(pathToFileURL(path).href)).filter((it) =>
        /^(?!default$)[a-zA-Z_$][\w$]*$/.test(it),
      );
      const list = names.map((it) => `  ${it},`).join("\n");
      const contents = `const all = require(${JSON.stringify(path)});\nexport default all;\nexport const {\n${list}\n} = all;\n`;
      return { contents, resolveDir: dirname(path) };
    });
  },
};

/** Decides by the text, as esbuild does, since Node.js takes some ES modules for CommonJS. */
const isCommonJs = (path) => !/^(import|export)\b/m.test(readFileSync(path, "utf8"));
