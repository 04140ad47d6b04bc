/**
 * Plugin of esbuild that adds named exports to CommonJS packages loaded by `import()`. esbuild only exports `default`
 * for them, whereas Node.js exports their members by name too. The plugin loads the package to learn the names.
 */

// One of the packages cannot be loaded without this import.
import "reflect-metadata";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";

const NAMESPACE = "named";

export const namedExports = {
  name: "named-exports",
  setup(build) {
    // The paths become part of the bundle, so they are relative: they must not depend on where the project is.
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

/** Returns whether a file is CommonJS, judged by its text as esbuild does. Node.js treats some ES modules as CommonJS. */
const isCommonJs = (path) => !/^(import|export)\b/m.test(readFileSync(path, "utf8"));
