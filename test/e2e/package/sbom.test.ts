/** The build's description of its parts: the list for scanners, and the included licenses. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openCycloneDx } from "./support/cyclonedx.ts";
import { ROOT } from "./support/install.ts";

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly scope: string;
  readonly hashes: readonly { readonly content: string }[];
  readonly licenses: readonly unknown[];
}
interface Bom {
  readonly serialNumber: string;
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const bom = JSON.parse(await readFile(join(ROOT, "dist/sbom.cdx.json"), "utf8")) as Bom;
const cycloneDx = await openCycloneDx();

test("the SBOM is valid by the schema of CycloneDX 1.6", { skip: cycloneDx.missing }, () => {
  assert.deepEqual(cycloneDx.validate(bom), []);
  // A schema that accepts everything would fail here.
  assert.notDeepEqual(cycloneDx.validate({ ...bom, components: [{ type: "library" }] }), []);
  assert.notDeepEqual(cycloneDx.validate({ ...bom, serialNumber: "1" }), []);
});

test("the SBOM names the product, and each part by version, digest and license", async () => {
  const product = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { readonly version: string };
  assert.deepEqual([bom.metadata.component.name, bom.metadata.component.version], ["gateway", product.version]);
  for (const it of bom.components) {
    assert.match(it.hashes[0]?.content ?? "", /^[0-9a-f]{128}$/, it["bom-ref"]);
    assert.equal(it.licenses.length, 1);
  }
  const names = new Set(bom.components.map(({ name }) => name));
  for (const name of [
    "undici",
    "fastify",
    "classic-level",
    "cedar-wasm",
    "alasql",
    "ink",
    "koffi",
    "koffi-linux-x64",
  ]) {
    assert.ok(names.has(name), name);
  }
  for (const name of ["typescript", "biome", "tsx", "esbuild", "openai"]) assert.ok(!names.has(name), name);
});

test("every part is reachable from the product through listed parts", () => {
  const uses = new Map(bom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const reached = new Set<string>();
  const pending = [bom.dependencies[0]?.ref ?? ""];
  for (let ref = pending.pop(); ref !== undefined; ref = pending.pop()) {
    if (reached.has(ref)) continue;
    reached.add(ref);
    const next = uses.get(ref);
    assert.ok(next !== undefined, `${ref} is used and not listed`);
    pending.push(...next);
  }
  const lost = bom.components.map((it) => it["bom-ref"]).filter((ref) => !reached.has(ref));
  assert.deepEqual(lost, []);
});

test("the license of each bundled part is included", async () => {
  const text = await readFile(join(ROOT, "dist/LICENCES.txt"), "utf8");
  const sections = text.split(/^={80}$/m).map((it) => it.trimStart());
  for (const { "bom-ref": ref, scope, version } of bom.components) {
    if (scope !== "required") continue;
    const id = decodeURIComponent(ref.slice("pkg:npm/".length, ref.lastIndexOf("@")));
    assert.ok(
      sections.some((it) => it.startsWith(`${id} ${version}: `)),
      `${id} ${version}`,
    );
  }
  // Sources that a native library was compiled from.
  const native = sections.find((it) => it.startsWith("classic-level ")) ?? "";
  assert.match(native, /deps\/leveldb\/.*LICENSE/);
  assert.match(native, /deps\/snappy\/.*COPYING/);
});
