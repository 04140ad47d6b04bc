/** The chart of examples/deploy as `helm template` renders it. */
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";

const run = promisify(execFile);

export const CHART = resolve(import.meta.dirname, "../../../examples/deploy/chart");

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: a manifest is whatever the chart says; tests look at a few members
  readonly spec?: any;
}

/** A Helm that was compiled from its module takes Kubernetes for one of 2020. */
const KUBERNETES = ["--kube-version", "1.34.0"];

/** Rejects with what helm says if the values are refused. */
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

/** The only manifest of a kind, or of a kind and name. */
export function manifestOf(manifests: readonly Manifest[], kind: string, name?: string): Manifest {
  const found = manifests.filter((it) => it.kind === kind && (name === undefined || it.metadata.name === name));
  if (found[0] === undefined || found.length > 1) throw new Error(`${found.length} manifests of ${kind} ${name ?? ""}`);
  return found[0];
}
