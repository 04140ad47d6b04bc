// tier: long
/** The manifests of examples/deploy, read by the schemas of Kubernetes, which come from PyPI. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { peer } from "../peers/index.ts";

const DEPLOY = resolve(import.meta.dirname, "../../examples/deploy");
const kubernetes = await peer("kubernetes-schemas");
const run = promisify(execFile);

test("the manifests are sound by the schemas of Kubernetes", { skip: kubernetes.missing }, async () => {
  const path = join(DEPLOY, "kubernetes/gateway.yaml");
  await run(kubernetes.path, ["-m", "kubernetes_validate", "--strict", path]).catch((error: { stdout: string }) =>
    assert.fail(error.stdout),
  );
});
