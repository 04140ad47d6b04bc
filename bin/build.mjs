/**
 * `npm run build`: bundles src/ and every package that it uses to dist/ with esbuild, so that an installation needs no
 * other package. Also writes native and WebAssembly files, the licenses of the bundled packages, and the SBOM
 * (CycloneDX).
 */

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleAll } from "./build/bundles.mjs";
import { copyKoffi } from "./build/koffi.mjs";
import { licencesText } from "./build/licences.mjs";
import { copyNative } from "./build/native.mjs";
import { packagesIn } from "./build/packages.mjs";
import { revision } from "./build/revision.mjs";
import { sbomOf } from "./build/sbom.mjs";
import { writeFile } from "./build/write-file.mjs";
import stamp from "./stamp.cjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const dist = join(root, "dist");

/** Removes all other files of dist/, such as chunks of earlier builds. */
function removeAllBut(kept) {
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !kept.has(path)) rmSync(path);
  }
}

try {
  const fingerprint = stamp.fingerprint(root);
  const product = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const locked = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  const built = revision(root, product.version);
  const metafiles = await bundleAll(root, built);
  const packages = packagesIn(root, metafiles);
  const texts = [
    [join(dist, "LICENCES.txt"), licencesText(packages)],
    [join(dist, "sbom.cdx.json"), sbomOf({ product, built, packages, locked })],
  ];
  for (const [path, text] of texts) writeFile(path, text);
  const written = metafiles.flatMap(({ outputs }) => Object.keys(outputs)).map((path) => join(root, path));
  removeAllBut(new Set([...written, ...texts.map(([path]) => path), ...copyNative(root), ...copyKoffi(root)]));
  stamp.write(root, fingerprint);
} catch (error) {
  // esbuild has already printed the errors in the source with their positions.
  if (!Array.isArray(error?.errors)) console.error(error);
  process.exitCode = 1;
}
