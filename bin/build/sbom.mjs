/**
 * dist/sbom.cdx.json: the parts of the product, for the scanners that ask whether one of them is known to be unsafe.
 * Source: CycloneDX 1.6, JSON. The same sources give the same bytes: number and time are taken from what is listed and from
 * the commit.
 */

import { createHash } from "node:crypto";

/** `locked`: packages of package-lock.json by path, for the digests that npm checks. */
export function sbomOf({ product, built, packages, locked }) {
  const main = purlOf(product.name, product.version);
  const refs = new Map(packages.map((it) => [it.path, purlOf(it.name, it.version)]));
  const bundled = packages.map((it) => component({ ...it, integrity: locked[it.path]?.integrity, scope: "required" }));
  const beside = Object.keys(product.optionalDependencies ?? {}).map((name) => {
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

/** One package may lie at two paths. */
function distinct(components) {
  return [...new Map(components.map((it) => [it["bom-ref"], it])).values()];
}

/** Source: the Package URL specification; the scope's `@` is escaped. */
const purlOf = (name, version) => `pkg:npm/${name.replace("@", "%40")}@${version}`;

/** An identifier of SPDX, or an expression of several. */
const licensesOf = (license) => (/[ ()]/.test(license) ? [{ expression: license }] : [{ license: { id: license } }]);

/** Subresource Integrity, as package-lock.json has it. */
function hashesOf(integrity) {
  const digest = /^sha512-(\S+)$/.exec(integrity ?? "")?.[1];
  return digest === undefined ? [] : [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }];
}

/** RFC 9562, version 8: of what it names. */
function uuidOf(text) {
  const hex = createHash("sha256").update(text).digest("hex").slice(0, 32).split("");
  hex[12] = "8";
  hex[16] = "a";
  return hex.join("").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
