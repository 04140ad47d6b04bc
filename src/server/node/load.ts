/** Loads a node's whole configuration from its files, as the daemon and `check` both do. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { type NamedOverlay, overlayFileProblem } from "../core/catalog/index.ts";
import {
  type Deployment,
  formatProblem,
  type NodeFile,
  type Problem,
  type Read,
  type References,
  readDeployment,
  readNodeFile,
  readOverlay,
  type Used,
} from "../core/config/index.ts";
import { openSecrets, type Secrets } from "../secrets/index.ts";
import { type Compiled, compileDeployment } from "../snapshot/index.ts";
import { beside, type Disk, openDisk } from "./files.ts";
import { glance } from "./glance.ts";

export interface LoadedNode {
  readonly nodeFile: NodeFile;
  readonly deployment: Read<Deployment>;
  /** Hex SHA-256 of the deployment document's text: tells whether an edit forgot to raise `version`. */
  readonly digest: string;
  readonly compiled: Extract<Compiled, { kind: "compiled" }>;
  /** Lines for a person. */
  readonly warnings: readonly string[];
  readonly used: Used;
  /** What the deployment document's secrets were read from: it knows what it handed out, so it can tell a change. */
  readonly secrets: Secrets;
  /** What the documents were read from. */
  readonly disk: Disk;
}

export type Loaded =
  | { readonly kind: "loaded"; readonly node: LoadedNode }
  /** One line each, in the order of the documents. */
  | { readonly kind: "refused"; readonly problems: readonly string[] };

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * `path`: the node file. `disk`: that of a configuration whose documents are to be compiled again with the secrets of
 * today. Reads files and the environment, opens nothing, writes nothing.
 */
export async function loadNode(path: string, env: Environment, disk: Disk = openDisk()): Promise<Loaded> {
  const text = await disk.readText(path);
  if (text.kind === "problem") return refused([text.message]);
  const seen = glance(text.text, env);
  const secrets = openSecrets({ dir: seen.secretsDir && beside(path, seen.secretsDir) });
  const resolved = references(env, secrets);
  const node = readNodeFile(text, resolved);
  const nodeFile = node.document;
  const problems = node.problems.map(formatProblem);
  if (seen.deployment === undefined) {
    const missing = `${path}: not supported by this version: a node file without \`deployment\``;
    return refused(hasErrors(node.problems) ? problems : [...problems, missing]);
  }
  const overlays = await readOverlays(disk, path, nodeFile?.catalog_overlay_paths ?? seen.overlayPaths);
  problems.push(...overlays.problems);

  const deploymentPath = beside(path, seen.deployment);
  const deploymentText = await disk.readText(deploymentPath);
  if (deploymentText.kind === "problem") return refused([...problems, deploymentText.message]);
  const deployment = readDeployment(deploymentText, resolved);
  const compiled = compileDeployment({ deployment, fileOverlays: overlays.overlays });
  problems.push(...compiled.problems.map(formatProblem));

  const isSound = !hasErrors(node.problems) && overlays.problems.length === 0;
  if (nodeFile === undefined || compiled.kind === "refused" || !isSound) return refused(problems);
  return {
    kind: "loaded",
    node: {
      nodeFile,
      deployment,
      digest: createHash("sha256").update(deploymentText.text).digest("hex"),
      compiled,
      warnings: problems,
      used: {
        environment: [...node.used.environment, ...deployment.used.environment],
        secrets: [...node.used.secrets, ...deployment.used.secrets],
        files: deployment.used.files,
      },
      secrets,
      disk,
    },
  };
}

function references(env: Environment, secrets: Secrets): References {
  return { env: (name) => env[name], secret: (name) => secrets.secret(name), file: (name) => secrets.file(name) };
}

async function readOverlays(
  disk: Disk,
  nodeFile: string,
  patterns: readonly string[],
): Promise<{ readonly overlays: readonly NamedOverlay[]; readonly problems: readonly string[] }> {
  const overlays: NamedOverlay[] = [];
  const problems: string[] = [];
  for (const pattern of patterns) {
    const expansion = await disk.expandPattern(beside(nodeFile, pattern));
    if (expansion.kind === "problem") {
      problems.push(expansion.message);
      continue;
    }
    for (const path of expansion.paths) {
      const text = await disk.readText(path);
      if (text.kind === "problem") {
        problems.push(text.message);
        continue;
      }
      const read = readOverlay(text);
      problems.push(...read.problems.map(formatProblem));
      if (read.document === undefined) continue;
      const misnamed = overlayFileProblem(basename(path), read.document);
      if (misnamed === undefined) overlays.push({ source: path, overlay: { name: path, providers: [read.document] } });
      else problems.push(`${path}: ${misnamed}`);
    }
  }
  return { overlays, problems };
}

function refused(problems: readonly string[]): Loaded {
  return { kind: "refused", problems };
}

function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some(({ severity }) => severity === "error");
}
