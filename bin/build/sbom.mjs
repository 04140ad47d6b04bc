/**
 * Generates dist/sbom.cdx.json: the packages in the program, for vulnerability scanners. Source: CycloneDX 1.6, JSON.
 * The same sources give the same bytes: the serial number is a digest of the list, and the time is that of the commit.
 */

import { createHash } from "node:crypto";
import { KOFFI_PACKAGES } from "./koffi.mjs";

/** Returns the SBOM. `locked`: packages of package-lock.json by path, with the digests that npm checks. */
export function sbomOf({ product, built, packages, locked }) {
  const main = purlOf(product.name, product.version);
  const refs = new Map(packages.map((it) => [it.path, purlOf(it.name, it.version)]));
  const bundled = packages.map((it) => component({ ...it, integrity: locked[it.path]?.integrity, scope: "required" }));
  // Optional, because each machine uses at most one of them.
  const beside = KOFFI_PACKAGES.map((name) => {
    const { version, license, integrity } = locked[`node_modules/${name}`];
    return component({ name, version, license, integrity, scope: "optional" });
  });
  const components = distinct([...bundled, ...beside]);
  const uses = new Map(components.map((it) => [it["bom-ref"], new Set()]));
  for (const it of packages) for (const path of it.uses) uses.get(refs.get(it.path)).add(refs.get(path));
  const direct = [
    ...packages.filter(({ isUsed }) => isUsed).map(({ path }) => refs.get(path)),
    ...beside.map((it) => it["bom-ref"]),
  ];
  const dependencies = [[main, new Set(direct)], ...uses].map(([ref, on]) => ({ ref, dependsOn: [...on].sort() }));
  const listed = { components, dependencies };
  const [esbuild, esbuildVersion] = built.bundler.split(" ");
  const bom = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify([built, listed]))}`,
    version: 1,
    metadata: {
      ...(built.date === "unknown" ? {} : { timestamp: built.date }),
      lifecycles: [{ phase: "build" }],
      tools: { components: [{ type: "application", name: esbuild, version: esbuildVersion }] },
      component: {
        type: "application",
        "bom-ref": main,
        name: product.name,
        version: product.version,
        description: product.description,
        licenses: licensesOf(product.license),
        purl: main,
        properties: [{ name: "commit", value: built.commit }],
      },
    },
    ...listed,
  };
  return `${JSON.stringify(bom, null, 1)}\n`;
}

function component({ name, version, license, integrity, scope }) {
  const [group, short] = name.startsWith("@") ? name.split("/") : [undefined, name];
  const purl = purlOf(name, version);
  return {
    type: "library",
    "bom-ref": purl,
    ...(group === undefined ? {} : { group }),
    name: short,
    version,
    scope,
    hashes: hashesOf(integrity),
    licenses: licensesOf(license),
    purl,
  };
}

/** Removes duplicates, since a package may be installed at two paths. */
function distinct(components) {
  return [...new Map(components.map((it) => [it["bom-ref"], it])).values()];
}

/** Returns a Package URL; its specification escapes the scope's `@`. */
const purlOf = (name, version) => `pkg:npm/${name.replace("@", "%40")}@${version}`;

/** Returns the license as CycloneDX writes it: an SPDX identifier, or an expression of several. */
const licensesOf = (license) => (/[ ()]/.test(license) ? [{ expression: license }] : [{ license: { id: license } }]);

/** Converts the Subresource Integrity text of package-lock.json to a CycloneDX hash. */
function hashesOf(integrity) {
  const digest = /^sha512-(\S+)$/.exec(integrity ?? "")?.[1];
  return digest === undefined ? [] : [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }];
}

/** Returns a UUID of version 8 (RFC 9562) from a digest of the text. */
function uuidOf(text) {
  const hex = createHash("sha256").update(text).digest("hex").slice(0, 32).split("");
  hex[12] = "8";
  hex[16] = "a";
  return hex.join("").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
