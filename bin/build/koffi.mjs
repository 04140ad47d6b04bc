/**
 * Native libraries of koffi, which has one npm package per platform. npm installs only the package for its own machine.
 * The tarball contains those of every platform on which the program uses koffi, so that an installation needs neither a
 * registry nor another package. They are in dist/native/koffi, and the program finds them through `#native/` of
 * package.json.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFile } from "./write-file.mjs";

/** Platforms on which src/server/admin/listeners/peer-credentials.ts identifies the user at the other end of a socket. */
const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];

export const KOFFI_PACKAGES = PLATFORMS.map((platform) => `@koromix/koffi-${platform}`);

/** Cache folder for packages of other platforms, which bin/add-platforms.mjs fetches. `npm ci` deletes it. */
export const FETCHED = join("node_modules", ".cache", "gateway", "platforms");

/** Plugin of esbuild that replaces koffi's search for its native library. */
export const koffiFromDist = {
  name: "koffi-from-dist",
  setup(build) {
    build.onLoad({ filter: /[\\/]node_modules[\\/]koffi[\\/]src[\\/]koffi[\\/]src[\\/]static\.js$/ }, () => ({
      contents: [
        'import { createRequire } from "node:module";',
        "const load = createRequire(import.meta.url);",
        "export function loadStatic(platform) {",
        // Returning null makes koffi report that it has no native library.
        "  try { return load(`#native/koffi/${platform}/index.js`); } catch { return null; }",
        "}",
      ].join("\n"),
      loader: "js",
    }));
  },
};

/** Returns the folder of each package, or `undefined` for one that is neither installed nor fetched. */
export function koffiFolders(root) {
  const { version } = manifestIn(join(root, "node_modules", "koffi"));
  return KOFFI_PACKAGES.map((name) => {
    const places = [join(root, "node_modules", name), join(root, FETCHED, name)];
    return { name, folder: places.find((place) => manifestIn(place)?.version === version) };
  });
}

/** Returns the parsed package.json, or `undefined` if there is none. */
function manifestIn(folder) {
  const path = join(folder, "package.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/** Copies what is available to dist/native/koffi, and returns the paths of the copies. */
export function copyKoffi(root) {
  const to = join(root, "dist", "native", "koffi");
  const own = join(root, "node_modules", "koffi");
  const { name, version, license } = manifestIn(own);
  // `type` is left out, since the loaders of the platforms are CommonJS.
  const about = `${JSON.stringify({ name, version, license }, null, 2)}\n`;
  const texts = [
    [join(to, "package.json"), about],
    [join(to, "LICENSE.txt"), readFileSync(join(own, "LICENSE.txt"))],
  ];
  const files = koffiFolders(root).flatMap(({ name, folder }) => {
    if (folder === undefined) return [];
    const platform = name.slice("@koromix/koffi-".length);
    return filesBelow(folder).map((file) => [join(to, platform, file), readFileSync(join(folder, file))]);
  });
  for (const [path, content] of [...texts, ...files]) writeFile(path, content);
  return [...texts, ...files].map(([path]) => path);
}

const filesBelow = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && (entry.name === "index.js" || entry.name.endsWith(".node")))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
