// tier: long
/**
 * The manifests of the chart in examples/deploy, checked with the published schemas: those of Kubernetes come from PyPI,
 * those of the Prometheus operator from npm.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { peer } from "../peers/index.ts";
import { manifestOf, render, renderText } from "./support/chart.ts";

const [kubernetes, operator, helm] = await Promise.all([
  peer("kubernetes-schemas"),
  peer("prometheus-operator-schemas"),
  peer("helm"),
]);
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

test("the ServiceMonitor is valid by the operator's definition, and finds the chart's own service", {
  skip: helm.missing || operator.missing,
}, async () => {
  const values = ["--set", "serviceMonitor.enabled=true", "--set", "serviceMonitor.labels.release=monitoring"];
  const manifests = await render(helm.path, values);
  const monitor = manifestOf(manifests, "ServiceMonitor");
  // The package has no types here, since it is installed into a folder of its own.
  const { ServiceMonitor } = (await import(operator.path)) as {
    readonly ServiceMonitor: new (fields: unknown) => { validate(): void };
  };
  new ServiceMonitor(monitor).validate();
  const spec = monitor.spec as unknown as MonitorSpec;
  assert.throws(() => {
    const endpoints = [{ ...spec.endpoints[0], interval: "15 seconds" }];
    new ServiceMonitor({ ...monitor, spec: { ...spec, endpoints } }).validate();
  }, /interval/);

  const wanted = Object.entries(spec.selector.matchLabels);
  const found = manifests.filter(
    ({ kind, metadata }) => kind === "Service" && wanted.every(([name, value]) => metadata.labels[name] === value),
  );
  const [service, ...others] = found;
  assert.ok(service?.spec !== undefined);
  assert.deepEqual(others, []);
  const { ports } = service.spec as unknown as { readonly ports: readonly { readonly name: string }[] };
  assert.ok(ports.some(({ name }) => name === spec.endpoints[0]?.port));
  assert.equal(typeof service.metadata.labels[spec.jobLabel], "string");
});

interface MonitorSpec {
  readonly jobLabel: string;
  readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly endpoints: readonly { readonly port: string }[];
}
