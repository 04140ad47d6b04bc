// tier: long
/**
 * The manifests of the chart in examples/deploy, checked with the published schemas of Kubernetes, which come from
 * PyPI.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { peer } from "../peers/index.ts";
import { renderText } from "./support/chart.ts";

const [kubernetes, helm] = await Promise.all([peer("kubernetes-schemas"), peer("helm")]);
const run = promisify(execFile);

/** Values that render every optional part of a manifest. */
const EVERYTHING = [
  ...[
    "--set",
    "cluster.deadAfter=30m",
    "--set",
    "persistence.storageClass=fast",
    "--set",
    "serviceAccountName=gateway",
  ],
  ...["--set", "priorityClassName=high", "--set", "imagePullSecrets[0].name=registry", "--set", "podLabels.team=a"],
  ...["--set", "service.annotations.a=b", "--set", "podAnnotations.a=b", "--set", "nodeSelector.disk=ssd"],
  ...["--set-json", 'env=[{"name":"OTEL_EXPORTER_OTLP_ENDPOINT","value":"http://collector:4318"}]'],
  ...["--set-json", 'tolerations=[{"key":"a","operator":"Exists"}]'],
  ...["--set-json", 'affinity={"nodeAffinity":{}}'],
  ...[
    "--set-json",
    'networkPolicy={"clients":[{"podSelector":{}}],"metrics":[{"podSelector":{}}],"egress":[{"ports":[{"port":443}]}]}',
  ],
];

for (const [what, values] of [
  ["with default values", []],
  ["with every value set", EVERYTHING],
] as const) {
  test(`the manifests are valid ${what}`, { skip: helm.missing || kubernetes.missing }, async (t) => {
    const dir = await mkdtemp(join(tmpdir(), "gateway-chart-"));
    t.after(() => rm(dir, { recursive: true, force: true }));
    const path = join(dir, "manifests.yaml");
    await writeFile(path, await renderText(helm.path, values));
    await run(kubernetes.path, ["-m", "kubernetes_validate", "--strict", path]).catch((error: { stdout: string }) =>
      assert.fail(error.stdout),
    );
  });
}
