/** Reads a node's documents from its files, and compiles them as the daemon and `check` both do. */
import { basename } from "node:path";
import { type NamedOverlay, overlayFileProblem } from "../../core/catalog/index.ts";
import {
  type ComposedDeployment,
  type Deployment,
  formatProblem,
  type NodeFile,
  type Problem,
  readNodeFile,
  readOverlay,
} from "../../core/config/index.ts";
import { type ModelNeed, modelNeeds } from "../../models/index.ts";
import { openSecrets, PLACEHOLDER_SECRET } from "../../secrets/index.ts";
import {
  type Compiled,
  type CompileInput,
  type GuardrailEngine,
  loadGuardrails,
  loadRules,
  type Rules,
} from "../../snapshot/index.ts";
import { cachedViews } from "../model-cache.ts";
import { compileSources, trustedSettingsOf } from "./compile-sources.ts";
import { peekNodeFile } from "./peek-node-file.ts";
import { type Disk, type FileText, openDisk, resolveBeside } from "./read-configuration-files.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Content of this node's files, as far as they can be read. */
export interface NodeDocuments {
  /** Path of the node file. */
  readonly path: string;
  /** Parsed node file; `undefined` if it cannot be used. */
  readonly nodeFile: NodeFile | undefined;
  /** Absolute path; `undefined` if the node file sets none. */
  readonly secretsDir: string | undefined;
  readonly overlays: readonly NamedOverlay[];
  /** Variables that the node file refers to. */
  readonly variables: ReadonlySet<string>;
  /** The deployment document on disk; `undefined` if the deployment comes through the admin API. */
  readonly document: FileText | undefined;
  /** Absolute path of the deployment document. */
  readonly documentPath: string | undefined;
  /** Engine of rules, loaded if the document may need it. */
  readonly rules: Rules | undefined;
  /** Engine of guardrails, loaded like `rules`; it keeps no counters. */
  readonly guardrails: GuardrailEngine | undefined;
  /** Problems of the node file and the overlays, for a person; errors if `isSound` is false. */
  readonly problems: readonly string[];
  readonly isSound: boolean;
}

/** Reads the documents from files and the environment. Opens and writes nothing. */
export async function readNode(path: string, env: Environment, disk: Disk = openDisk()): Promise<NodeDocuments> {
  const text = await disk.readText(path);
  if (text.kind === "problem") {
    return {
      path,
      nodeFile: undefined,
      secretsDir: undefined,
      overlays: [],
      variables: new Set(),
      document: undefined,
      documentPath: undefined,
      rules: undefined,
      guardrails: undefined,
      problems: [text.message],
      isSound: false,
    };
  }
  const seen = peekNodeFile(text.text, env);
  const secretsDir = seen.secretsDir && resolveBeside(path, seen.secretsDir);
  const secrets = openSecrets({ dir: secretsDir });
  const node = readNodeFile(text, {
    env: (name) => env[name],
    secret: (name) => secrets.secret(name),
    file: (name) => secrets.file(name),
  });
  const overlays = await readOverlays(disk, path, node.document?.catalog_overlay_paths ?? seen.overlayPaths);
  const documentPath = seen.deployment === undefined ? undefined : resolveBeside(path, seen.deployment);
  const document = documentPath === undefined ? undefined : await disk.readText(documentPath);
  return {
    path,
    nodeFile: node.document,
    secretsDir,
    overlays: overlays.overlays,
    variables: new Set(node.used.environment),
    document,
    documentPath,
    rules: document?.kind === "text" ? await loadRules([document.text]) : undefined,
    guardrails: document?.kind === "text" ? await loadGuardrails([document.text]) : undefined,
    problems: [...node.problems.map(formatProblem), ...overlays.problems, ...overlays.warnings],
    isSound: node.document !== undefined && !hasErrors(node.problems) && overlays.problems.length === 0,
  };
}

export interface LoadedNode {
  readonly nodeFile: NodeFile;
  readonly deployment: ComposedDeployment;
  /** Compiled deployment, without its guardrails if `awaits` names models. */
  readonly compiled: Pick<Extract<Compiled, { kind: "compiled" }>, "snapshot" | "prepare" | "probes">;
  /** Models that the deployment needs and the cache lacks. */
  readonly awaits: readonly ModelNeed[];
  /** Warnings for operators, one line each. */
  readonly warnings: readonly string[];
  /** Secrets that are in no file of this node: only the cluster can store them. `PLACEHOLDER_SECRET` replaces them. */
  readonly assumedSecrets: readonly string[];
}

type LoadResult =
  | { readonly kind: "loaded"; readonly node: LoadedNode }
  /** Problems, one line each, in the order of the documents. */
  | {
      readonly kind: "refused";
      readonly problems: readonly string[];
      /** Secrets that are missing here but may be in a cluster; there are no other problems. */
      readonly missing: readonly string[];
    };

/**
 * Compiles the node file, and the deployment document on disk as the only source; without one, an empty deployment. No cluster
 * is open: a secret that is in no file is missing, and with a cluster secret it may still be sealed.
 */
export function compileDocuments(documents: NodeDocuments, env: Environment): LoadResult {
  const { nodeFile, document, problems } = documents;
  if (document?.kind === "problem") return refused([...problems, document.message]);
  const maySeal = nodeFile?.cluster.secret !== undefined;
  const { compiled, deployment, missing } = compileWith(documents, env, maySeal ? SEALED_ELSEWHERE : undefined);
  const problemLines = [...problems, ...compiled.problems.map(formatProblem)];
  if (nodeFile === undefined || !documents.isSound) return refused(problemLines);
  if (compiled.kind === "refused") return refused(problemLines, missing);
  return {
    kind: "loaded",
    node: { nodeFile, deployment, ...loadedOf(compiled), warnings: problemLines, assumedSecrets: [] },
  };
}

/**
 * Loads and compiles a node's documents. `path` is the node file's. Secrets that only the cluster can store are assumed to
 * exist.
 */
export async function loadNode(path: string, env: Environment): Promise<LoadResult> {
  const documents = await readNode(path, env);
  const loaded = compileDocuments(documents, env);
  const { nodeFile, problems } = documents;
  if (nodeFile === undefined) return loaded;
  const assumedSecrets = loaded.kind === "refused" ? loaded.missing : [];
  const isAwaiting = loaded.kind === "loaded" && loaded.node.awaits.length > 0;
  if (!isAwaiting && assumedSecrets.length === 0) return loaded;
  const seen = compileWith(documents, env, PLACEHOLDER_SECRETS);
  const { deployment } = seen;
  const { document } = deployment;
  const needs = seen.compiled.kind === "awaits" && document !== undefined ? modelNeeds(document) : [];
  const { compiled } =
    needs.length === 0
      ? seen
      : compileWith(documents, env, PLACEHOLDER_SECRETS, await cachedViews(nodeFile, path, needs));
  if (compiled.kind === "refused") {
    if (loaded.kind === "refused") return loaded;
    return refused([...problems, ...compiled.problems.map(formatProblem)]);
  }
  const warnings = [...problems, ...compiled.problems.map(formatProblem)];
  return { kind: "loaded", node: { nodeFile, deployment, ...loadedOf(compiled), warnings, assumedSecrets } };
}

type ComposeResult =
  | { readonly kind: "composed"; readonly nodeFile: NodeFile; readonly document: Deployment | undefined }
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/** Like `loadNode`, but only checks the documents: returns the merged document without a compiled configuration. */
export async function composeNode(path: string, env: Environment): Promise<ComposeResult> {
  const documents = await readNode(path, env);
  const { nodeFile, problems, document } = documents;
  if (document?.kind === "problem") return { kind: "refused", problems: [...problems, document.message] };
  const { deployment } = compileWith(documents, env, PLACEHOLDER_SECRETS);
  const problemLines = [...problems, ...deployment.problems.map(formatProblem)];
  if (nodeFile === undefined || !documents.isSound || hasErrors(deployment.problems)) {
    return { kind: "refused", problems: problemLines };
  }
  return { kind: "composed", nodeFile, document: deployment.document };
}

type Sealed = Parameters<typeof openSecrets>[0]["sealed"];

const SEALED_ELSEWHERE: Sealed = {
  secret: (name) => ({
    kind: "problem",
    message: `a sealed secret ${JSON.stringify(name)} can only be seen by a node of the cluster`,
    missing: true,
  }),
};

const PLACEHOLDER_SECRETS: Sealed = { secret: () => ({ kind: "value", value: PLACEHOLDER_SECRET }) };

type Sound = Exclude<ReturnType<typeof compileWith>["compiled"], { kind: "refused" }>;

const loadedOf = (compiled: Sound): Pick<LoadedNode, "compiled" | "awaits"> =>
  compiled.kind === "compiled"
    ? { compiled, awaits: [] }
    : { compiled: { snapshot: compiled.rest, prepare: undefined }, awaits: compiled.models };

function compileWith(documents: NodeDocuments, env: Environment, sealed: Sealed, models?: CompileInput["models"]) {
  const { document, overlays, secretsDir, nodeFile, rules, guardrails } = documents;
  return compileSources({
    sources: document?.kind === "text" ? [document] : [],
    env,
    secrets: openSecrets({ dir: secretsDir, sealed }),
    fileOverlays: overlays,
    // Without a document the node cannot know whether a later deployment needs the inspector.
    trusted: nodeFile && { ...trustedSettingsOf(nodeFile), ...(document === undefined && { inspector: undefined }) },
    rules,
    guardrails,
    models,
  });
}

/** Reads the overlay files. `patterns`: relative to the node file's directory. */
export async function readOverlays(
  disk: Disk,
  nodeFile: string,
  patterns: readonly string[],
): Promise<{
  readonly overlays: readonly NamedOverlay[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}> {
  const overlays: NamedOverlay[] = [];
  const problems: string[] = [];
  const warnings: string[] = [];
  for (const pattern of patterns) {
    const expansion = await disk.expandPattern(resolveBeside(nodeFile, pattern));
    if (expansion.kind === "problem") {
      problems.push(expansion.message);
      continue;
    }
    // A directory may be filled later; a misspelled pattern looks the same, so this is only a warning.
    if (expansion.paths.length === 0) {
      warnings.push(`${nodeFile}: catalog_overlay_paths: warning: the pattern ${pattern} matches no file`);
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
  return { overlays, problems, warnings };
}

function refused(problems: readonly string[], missing: readonly string[] = []): LoadResult {
  return { kind: "refused", problems, missing };
}

function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some(({ severity }) => severity === "error");
}
