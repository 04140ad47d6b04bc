/**
 * `npm run build`: src/ and every package that it uses to dist/, with esbuild, so that what is installed asks a registry
 * for nothing that is pure JavaScript. Beside the bundles: the native and WebAssembly parts, the licences of what is
 * bundled, and the list of it (CycloneDX).
 */

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleAll } from "./build/bundles.mjs";
import { writeFile } from "./build/files.mjs";
import { licencesText } from "./build/licences.mjs";
import { copyNative } from "./build/native.mjs";
import { packagesIn } from "./build/packages.mjs";
import { revision } from "./build/revision.mjs";
import { sbomOf } from "./build/sbom.mjs";
import stamp from "./stamp.cjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const dist = join(root, "dist");

/** A chunk that nothing refers to any longer must not stay behind. */
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
  removeAllBut(new Set([...written, ...texts.map(([path]) => path), ...copyNative(root)]));
  stamp.write(root, fingerprint);
} catch (error) {
  // Errors in the source have been printed by esbuild, with their place.
  if (!Array.isArray(error?.errors)) console.error(error);
  process.exitCode = 1;
}
