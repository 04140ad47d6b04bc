/** What the build says of its parts: the list for scanners, and the licences that are handed on. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import draft7 from "ajv";
import { peer } from "../../peers/index.ts";
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
const schemas = await peer("cyclonedx-schemas");

test("the list is sound by the schema of CycloneDX 1.6", { skip: schemas.missing }, async () => {
  const read = async (name: string) =>
    JSON.parse(await readFile(join(dirname(schemas.path), name), "utf8")) as Record<string, unknown>;
  const ajv = new draft7.default({ strict: false, validateFormats: false });
  ajv.addSchema(await read("spdx.SNAPSHOT.schema.json"), "http://cyclonedx.org/schema/spdx.SNAPSHOT.schema.json");
  ajv.addSchema(
    await read("jsf-0.82.SNAPSHOT.schema.json"),
    "http://cyclonedx.org/schema/jsf-0.82.SNAPSHOT.schema.json",
  );
  const validate = ajv.compile(await read("bom-1.6.SNAPSHOT.schema.json"));
  validate(bom);
  assert.deepEqual(validate.errors ?? [], []);
  // So that a schema that lets everything pass is noticed.
  assert.equal(validate({ ...bom, components: [{ type: "library" }] }), false);
  assert.equal(validate({ ...bom, serialNumber: "1" }), false);
});

test("it names the product, and each part by version, digest and licence", async () => {
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

test("every part is reached from the product, by parts that are listed", () => {
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

test("the licence of each bundled part is handed on", async () => {
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
  // What a native library was compiled from.
  const native = sections.find((it) => it.startsWith("classic-level ")) ?? "";
  assert.match(native, /deps\/leveldb\/.*LICENSE/);
  assert.match(native, /deps\/snappy\/.*COPYING/);
});
