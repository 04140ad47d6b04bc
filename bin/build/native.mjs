/**
 * Copies files that are not JavaScript and that a package looks up beside its own code (prebuilt binaries, WebAssembly) to
 * dist/native/, with the package's licence. Code in dist/ finds them through `#native/` in package.json.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFile } from "./files.mjs";

/** `file`: the one that asks for `__dirname`. `parts`: files and folders; one that is not there is left out. */
const PARTS = [
  {
    name: "classic-level",
    file: "binding.js",
    // The second is there where no binary was published for the machine, and npm compiled one.
    parts: ["prebuilds", "build/Release", "LICENSE"],
    wanted: /\.node$|LICENSE$/,
  },
  {
    name: "cedar-wasm",
    package: "@cedar-policy/cedar-wasm",
    file: "nodejs/cedar_wasm.js",
    parts: ["nodejs/cedar_wasm_bg.wasm"],
    flat: true,
    wanted: /\.wasm$/,
  },
];

const folderOf = ({ name, package: id = name }) => join("node_modules", id);

/** esbuild plugin that makes the packages' code look in dist/native/. */
export const besidesBundle = {
  name: "besides-bundle",
  setup(build) {
    for (const part of PARTS) {
      const path = `/${folderOf(part)}/${part.file}`.replace(/[.\\/]/g, "[$&\\\\/]");
      const here = `require("node:path").dirname(require.resolve("#native/${part.name}/package.json"))`;
      build.onLoad({ filter: new RegExp(`${path}$`) }, ({ path }) => ({
        contents: readFileSync(path, "utf8").replaceAll("__dirname", here),
        loader: "js",
      }));
    }
  },
};

/** Returns the paths of what dist/native/ holds. */
export function copyNative(root) {
  return PARTS.flatMap((part) => {
    const from = join(root, folderOf(part));
    const to = join(root, "dist", "native", part.name);
    const { name, version, license } = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));
    const about = join(to, "package.json");
    // Without its type and its scripts, which are those of a package that is installed.
    writeFile(about, `${JSON.stringify({ name, version, license }, null, 2)}\n`);
    const copied = part.parts.flatMap((path) =>
      filesBelow(from, path).flatMap((file) => {
        if (!part.wanted.test(file)) return [];
        const target = join(to, part.flat ? file.slice(file.lastIndexOf("/") + 1) : file);
        writeFile(target, readFileSync(join(from, file)));
        return [target];
      }),
    );
    if (copied.length === 0) throw new Error(`there is nothing of ${name} to copy in ${from}`);
    return [about, ...copied];
  });
}

function filesBelow(from, path) {
  if (!existsSync(join(from, path))) return [];
  const isFolder = !/\.\w+$|LICENSE$/.test(path);
  if (!isFolder) return [path];
  return readdirSync(join(from, path), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesBelow(from, `${path}/${entry.name}`) : [`${path}/${entry.name}`],
  );
}
