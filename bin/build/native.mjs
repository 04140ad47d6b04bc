/**
 * Native and WebAssembly files of packages that look for them next to their own code. They are copied to dist/native/
 * with the package's license, and the code is changed to find them through `#native/` of package.json, whichever file
 * of dist/ it is in. Those of koffi, which has a package per platform, are in koffi.mjs.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFile } from "./write-file.mjs";

/**
 * `file`: file that reads `__dirname`. `parts`: files and folders to copy; missing ones are skipped. `omitted`: matches
 * platforms on which Node.js 20 does not run.
 */
const PARTS = [
  {
    name: "classic-level",
    file: "binding.js",
    // `build/Release` exists if npm compiled the library because none was published for the machine.
    parts: ["prebuilds", "build/Release", "LICENSE"],
    wanted: /\.node$|LICENSE$/,
    omitted: /^prebuilds\/(android-|win32-ia32)/,
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

/** Plugin of esbuild that makes the code look for the files in dist/native/. */
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

/** Copies the files, and returns the paths of the copies. */
export function copyNative(root) {
  return PARTS.flatMap((part) => {
    const from = join(root, folderOf(part));
    const to = join(root, "dist", "native", part.name);
    const { name, version, license } = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));
    const about = join(to, "package.json");
    // Type and scripts are left out: they would apply to an installed package.
    writeFile(about, `${JSON.stringify({ name, version, license }, null, 2)}\n`);
    const copied = part.parts.flatMap((path) =>
      filesBelow(from, path).flatMap((file) => {
        if (!part.wanted.test(file) || part.omitted?.test(file)) return [];
        const target = join(to, part.flat ? file.slice(file.lastIndexOf("/") + 1) : file);
        writeFile(target, readFileSync(join(from, file)));
        return [target];
      }),
    );
    if (copied.length === 0) throw new Error(`no native library of ${name} was found in ${from}`);
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
