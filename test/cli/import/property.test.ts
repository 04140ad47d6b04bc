/**
 * Any import compiles, and no credential of the source appears. `gateway check -offline` itself runs on some.
 * `GATEWAY_IMPORT_RUNS` requests more runs than a suite can wait for.
 */

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { importConfiguration, SYSTEMS } from "../../../src/cli/import/index.ts";
import { execute } from "../../../src/cli/main.ts";
import { compileWithoutNode } from "../../../src/server/node/index.ts";
import { randomFloor, randomRuns } from "../../support/random-length.ts";
import { bufferIo } from "../buffer-io.ts";
import { SECRET, SOURCES } from "./arbitrary-source.ts";

const RUNS = Number(process.env["GATEWAY_IMPORT_RUNS"] ?? 100);
const SEED = Number(process.env["GATEWAY_IMPORT_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const CHECKED = 5;

/** Sources that once gave a document with a fault, by system. */
const EXAMPLES: Partial<Record<(typeof SYSTEMS)[number], readonly unknown[]>> = {
  bifrost: [
    {
      providers: {
        unheard: {
          keys: [{ models: ["${Y}"], aliases: { a: "a" } }],
          network_config: { base_url: "https://one.example.com/v1" },
          custom_provider_config: { base_provider_type: "openai" },
        },
      },
      governance: {
        virtual_keys: [
          { id: "all", provider_configs: [{ provider: "unheard" }] },
          { id: "one", provider_configs: [{ provider: "unheard", allowed_models: ["${Y}"] }] },
        ],
      },
    },
  ],
};

for (const system of SYSTEMS) {
  test(`${system}: the result compiles, passes 'check -offline', and contains no credential`, async (t) => {
    t.diagnostic(`seed ${SEED}`);
    const dir = await mkdtemp(join(tmpdir(), "gateway-import-"));
    t.after(() => rm(dir, { recursive: true }));
    let written = 0;
    await fc.assert(
      fc.asyncProperty(SOURCES[system], async (source) => {
        const imported = importConfiguration(system, { name: "source", text: JSON.stringify(source) }, new Map());
        assert.ok(!JSON.stringify(imported).includes(SECRET), "a credential came out");
        if (imported.kind === "refused" || imported.providers === 0) return;
        const env = Object.fromEntries(
          [...imported.variables].map(([name, role]) => [
            name,
            role === "address" ? "https://stand-in.example" : "stand-in",
          ]),
        );
        const { compiled } = await compileWithoutNode({ name: "document", text: imported.text }, env);
        const errors =
          compiled.kind === "refused" ? compiled.problems.filter(({ severity }) => severity === "error") : [];
        assert.deepEqual(errors, [], imported.text);
        written += 1;
        if (written > CHECKED) return;
        await writeFile(join(dir, "deployment.yaml"), imported.text);
        await writeFile(
          join(dir, "node.yaml"),
          "deployment: deployment.yaml\ncluster: { node_id: a, data_dir: data, bootstrap: true }\n",
        );
        const io = bufferIo({ cwd: dir, env });
        assert.equal(
          await execute(["check", "-offline", "-config", "node.yaml"], io),
          0,
          io.out() + io.err() + imported.text,
        );
      }),
      { seed: SEED, numRuns: RUNS, examples: (EXAMPLES[system] ?? []).map((source) => [source] as never) },
    );
    // Among ten sources there may be none that gives a document.
    const runs = randomRuns(RUNS);
    if (runs >= 50) assert.ok(written > randomFloor(RUNS / 20), `only ${written} of ${runs} wrote a document`);
  });
}
