/** The chart of examples/deploy, rendered by Helm with several values. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { peer } from "../peers/index.ts";
import { CHART, manifestOf, render, specOf } from "./support/chart.ts";

const run = promisify(execFile);
const helm = await peer("helm");
const skip = helm.missing;

test("helm lint finds no problem", { skip }, async () => {
  const { stdout } = await run(helm.path, ["lint", "--strict", CHART]);
  assert.match(stdout, /1 chart\(s\) linted, 0 chart\(s\) failed/);
});

const REFUSED: readonly (readonly [what: string, values: readonly string[], words: RegExp])[] = [
  ["an unknown value", ["--set", "replica=3"], /replica/],
  ["an even number of members", ["--set", "replicas=4"], /replicas/],
  ["a document that is not a text", ["--set", "deployment.version=1"], /deployment/],
  ["a key unknown to the node file", ["--set", "node.deployment=x"], /node/],
  ["no secret", ["--set", "secretName="], /secretName/],
  ["an invalid digest", ["--set", "image.digest=latest"], /digest/],
];

for (const [what, values, message] of REFUSED) {
  test(`the values schema refuses ${what}`, { skip }, async () => {
    await assert.rejects(render(helm.path, values), (error: { stderr: string }) => {
      assert.match(error.stderr, /don't meet the specifications of the schema/);
      assert.match(error.stderr, message);
      return true;
    });
  });
}

test("every object selects the pods of its own release, and refers to the secret by name alone", { skip }, async () => {
  const manifests = await render(helm.path, ["--set", "serviceMonitor.enabled=true"]);
  assert.deepEqual(manifests.map(({ kind }) => kind).sort(), [
    "ConfigMap",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "Service",
    "Service",
    "ServiceMonitor",
    "StatefulSet",
  ]);
  const pod = { "app.kubernetes.io/name": "gateway", "app.kubernetes.io/instance": "gateway" };
  const set = specOf(manifests, "StatefulSet");
  const selectors = [
    set.selector.matchLabels,
    ...set.template.spec.topologySpreadConstraints.map((it) => it.labelSelector.matchLabels),
    specOf(manifests, "PodDisruptionBudget").selector.matchLabels,
    specOf(manifests, "NetworkPolicy").podSelector.matchLabels,
    specOf(manifests, "Service", "gateway").selector,
    specOf(manifests, "Service", "gateway-nodes").selector,
  ];
  for (const selector of selectors) assert.deepEqual(selector, pod);
  const { labels } = set.template.metadata;
  for (const [key, value] of Object.entries(pod)) assert.equal(labels[key], value);
  const monitor = specOf(manifests, "ServiceMonitor");
  const nodes = manifestOf(manifests, "Service", "gateway-nodes");
  for (const [key, value] of Object.entries(monitor.selector.matchLabels))
    assert.equal(nodes.metadata.labels[key], value);
  assert.ok(!JSON.stringify(manifests).includes('"kind":"Secret"'));
  const { volumes } = set.template.spec;
  assert.equal(volumes.find((it) => it.name === "secrets")?.secret?.secretName, "gateway");
});

test("a stop leaves time to hand over leadership, to linger and to drain", { skip }, async () => {
  const values = ["--set", "stop.lingerSeconds=7", "--set", "stop.drainSeconds=60"];
  const { template } = specOf(await render(helm.path, values), "StatefulSet");
  const [container] = template.spec.containers;
  assert.equal(template.spec.terminationGracePeriodSeconds, 82);
  const drain = container.env.find((it) => it.name === "GATEWAY_DRAIN");
  assert.equal(drain?.value, "60s");
  assert.deepEqual(container.lifecycle.preStop.exec.command.slice(2), [
    ...["cluster", "step-down", "-socket", "/run/gateway/admin.sock", "-linger", "7s"],
  ]);
});

test("an edited document restarts the pods, and a changed replica count does not", { skip }, async () => {
  const sumOf = async (...values: readonly string[]): Promise<string> =>
    specOf(await render(helm.path, values), "StatefulSet").template.metadata.annotations["checksum/configuration"] ??
    "";
  const first = await sumOf();
  assert.equal(await sumOf("--set", "replicas=5"), first);
  assert.notEqual(await sumOf("--set", "deployment=version: 2"), first);
});

test("a document managed through the API creates no file, and keys of the node file are merged", {
  skip,
}, async () => {
  const values = [
    "--set",
    "deployment=",
    "--set-json",
    'node={"admin":{"listen":"127.0.0.1:9000"},"cluster":{"rejoin_after":"1m"}}',
  ];
  const { data } = manifestOf(await render(helm.path, values), "ConfigMap");
  assert.deepEqual(Object.keys(data ?? {}), ["node.yaml"]);
  const node = data?.["node.yaml"] ?? "";
  assert.doesNotMatch(node, /^deployment:/m);
  assert.match(node, /^ {2}listen: 127\.0\.0\.1:9000$/m);
  assert.match(node, /^ {2}local_socket: \/run\/gateway\/admin\.sock$/m);
  assert.match(node, /^ {2}rejoin_after: 1m$/m);
  assert.match(node, /^ {2}node_id: \$\{POD_NAME\}$/m);
});

test("the network policy names clients, scrapers and destinations if they are set", { skip }, async () => {
  const open = specOf(await render(helm.path), "NetworkPolicy");
  assert.deepEqual(open.policyTypes, ["Ingress"]);
  const peers = (name: string): string =>
    `networkPolicy.${name}=[{"namespaceSelector":{"matchLabels":{"team":"${name}"}}}]`;
  const values = ["--set-json", peers("clients"), "--set-json", peers("metrics")];
  const egress = 'networkPolicy.egress=[{"ports":[{"port":443}]}]';
  const closed = specOf(await render(helm.path, [...values, "--set-json", egress]), "NetworkPolicy");
  assert.deepEqual(closed.policyTypes, ["Ingress", "Egress"]);
  const allowed = (port: string) => closed.ingress.find((it) => it.ports[0]?.port === port)?.from[0];
  assert.equal(allowed("http")?.namespaceSelector.matchLabels.team, "clients");
  assert.equal(allowed("metrics")?.namespaceSelector.matchLabels.team, "metrics");
  assert.equal(closed.egress.length, 3);
});
