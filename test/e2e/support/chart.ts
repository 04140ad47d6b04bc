/** The chart of examples/deploy rendered by `helm template`. */
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";

const run = promisify(execFile);

export const CHART = resolve(import.meta.dirname, "../../../examples/deploy/chart");

/** Fields of a manifest that tests read, including the used part of pod and stateful set. */
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Labels };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: Spec;
}

type Labels = Readonly<Record<string, string>>;

interface Selector {
  readonly matchLabels: Labels;
}

interface Rule {
  readonly from: readonly { readonly namespaceSelector: Selector }[];
  readonly ports: readonly { readonly port: string }[];
}

interface Spec {
  /** For a Service the labels themselves. */
  readonly selector: Selector & Labels;
  readonly podSelector: Selector;
  readonly policyTypes: readonly string[];
  readonly ingress: readonly Rule[];
  readonly egress: readonly unknown[];
  readonly serviceName: string;
  readonly template: {
    readonly metadata: { readonly labels: Labels; readonly annotations: Labels };
    readonly spec: PodSpec;
  };
}

interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly topologySpreadConstraints: readonly { readonly labelSelector: Selector }[];
  readonly volumes: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
  readonly containers: readonly [
    {
      readonly env: readonly { readonly name: string; readonly value?: string }[];
      readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
    },
  ];
}

/** A Helm compiled from its Go module assumes a Kubernetes of 2020. */
const KUBERNETES = ["--kube-version", "1.34.0"];

/** Rejects with Helm's message if the values are refused. */
export async function renderText(helm: string, values: readonly string[] = []): Promise<string> {
  const { stdout } = await run(helm, [
    "template",
    "gateway",
    CHART,
    "--namespace",
    "default",
    ...KUBERNETES,
    ...values,
  ]);
  return stdout;
}

export async function render(helm: string, values: readonly string[] = []): Promise<readonly Manifest[]> {
  return parseAllDocuments(await renderText(helm, values)).map((it) => it.toJS() as Manifest);
}

/** Returns the only manifest of a kind, or of a kind and name. */
export function manifestOf(manifests: readonly Manifest[], kind: string, name?: string): Manifest {
  const found = manifests.filter((it) => it.kind === kind && (name === undefined || it.metadata.name === name));
  if (found[0] === undefined || found.length > 1) throw new Error(`${found.length} manifests of ${kind} ${name ?? ""}`);
  return found[0];
}

/** Returns the spec of the only manifest of a kind. */
export function specOf(manifests: readonly Manifest[], kind: string, name?: string): Spec {
  const { spec } = manifestOf(manifests, kind, name);
  if (spec === undefined) throw new Error(`${kind} has no specification`);
  return spec;
}
