/** Reads the guardrails of a document on disk, for evaluation and rehearsals: a deployment document, or a node file that names one. */

import { resolve } from "node:path";
import {
  type Deployment,
  formatProblem,
  type Guardrails,
  type ProblemAt,
  type References,
  readGuardrails,
} from "../../core/config/index.ts";
import { type ModelNeed, modelNeeds } from "../../models/index.ts";
import { openSecrets } from "../../secrets/index.ts";
import { compileDeployment, type GuardedProfile, type Snapshot } from "../../snapshot/index.ts";
import { defaultCacheDirectory } from "../model-cache.ts";
import { readOverlays } from "./load-documents.ts";
import { type NodeFilePaths, peekNodeFile } from "./peek-node-file.ts";
import { openDisk, resolveBeside } from "./read-configuration-files.ts";

export type ReadGuardrails =
  | {
      readonly kind: "read";
      readonly guardrails: Guardrails;
      /** Profiles with the detectors that they select, and nothing else. */
      readonly profiles: readonly GuardedProfile[];
      /** Declared models that its detectors refer to, without the tokens of their hubs. */
      readonly needs: readonly ModelNeed[];
      /** Returns `needs` with the tokens, for code that fetches them. */
      readonly tokens: () => Tokens;
      /**
       * Absolute path of the node's model cache; `undefined` if no node file names it and the default directory is not
       * writable.
       */
      readonly cacheDirectory: string | undefined;
      /** Snapshot with only the providers that judges call; `undefined` if there are no judges. */
      readonly judged: Snapshot | undefined;
      readonly problem: ProblemAt;
      /** Warnings for operators, one line each. */
      readonly warnings: readonly string[];
    }
  /** Problems, one line each. */
  | Refused;

interface Refused {
  readonly kind: "refused";
  readonly problems: readonly string[];
}

type Tokens = { readonly kind: "read"; readonly needs: readonly ModelNeed[] } | Refused;

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads guardrails from files and the environment. `path`: absolute. Opens and writes nothing. */
export async function readGuardrailsAt(path: string, env: Environment): Promise<ReadGuardrails> {
  const file = await openDisk().readText(path);
  return file.kind === "problem" ? refused([file.message]) : await readGuardrailsIn({ ...file, path }, env);
}

/** Reads guardrails from a text. `path` is where the file would be, `name` is its name in problems. */
export async function readGuardrailsIn(
  file: { readonly path: string; readonly name: string; readonly text: string },
  env: Environment,
): Promise<ReadGuardrails> {
  const { path } = file;
  const disk = openDisk();
  const seen = peekNodeFile(file.text, env);
  const { deployment, secretsDir } = seen;
  const source =
    deployment === undefined
      ? ({ kind: "text", ...file } as const)
      : await disk.readText(resolveBeside(path, deployment));
  if (source.kind === "problem") return refused([source.message]);
  const secrets = openSecrets({ dir: secretsDir && resolveBeside(path, secretsDir) });
  const references: References = {
    env: (name) => env[name],
    secret: (name) => secrets.secret(name),
    file: (name) => secrets.file(name),
  };
  const read = readGuardrails(source, references, { withTokens: false });
  const { document, asWritten, problem } = read;
  const problemLines = read.problems.map(formatProblem);
  if (document === undefined || asWritten === undefined) return refused(problemLines);
  const { guardrails, profiles = [] } = document;
  if (guardrails === undefined) return refused([...problemLines, `${source.name}: it has no \`guardrails\``]);
  if (guardrails.detectors.length === 0)
    return refused([...problemLines, `${source.name}: guardrails: no \`detectors\``]);

  let judged: Snapshot | undefined;
  if (guardrails.detectors.some(({ type }) => type === "llm")) {
    const { overlays, problems } = await readOverlays(disk, path, seen.overlayPaths);
    const compiled = compileDeployment({
      deployment: {
        ...read,
        draft: undefined,
        problems: [],
        document: withoutGuardrails(document),
        asWritten: withoutGuardrails(asWritten),
      },
      fileOverlays: overlays,
      trusted: undefined,
      rules: undefined,
      limitRev: 0,
    });
    if (problems.length > 0) return refused([...problemLines, ...problems]);
    if (compiled.kind !== "compiled") return refused([...problemLines, ...compiled.problems.map(formatProblem)]);
    judged = compiled.snapshot;
  }
  return {
    kind: "read",
    guardrails,
    profiles,
    needs: modelNeeds(document),
    tokens() {
      const { document: whole, problems } = readGuardrails(source, references, { withTokens: true });
      return whole === undefined
        ? refused(problems.filter(({ severity }) => severity === "error").map(formatProblem))
        : { kind: "read", needs: modelNeeds(whole) };
    },
    cacheDirectory: await cacheDirectoryOf(seen, path),
    judged,
    problem,
    warnings: problemLines,
  };
}

/**
 * Returns a deployment without guardrails, models and profiles. Callers and access rules do not matter, since nothing is served.
 */
const withoutGuardrails = ({ guardrails: _, models: __, profiles: ___, ...rest }: Deployment): Deployment => rest;

async function cacheDirectoryOf({ cacheDir, dataDir }: NodeFilePaths, path: string): Promise<string | undefined> {
  if (cacheDir !== undefined) return resolve(resolveBeside(path, cacheDir));
  return (
    (await defaultCacheDirectory()) ??
    (dataDir === undefined ? undefined : resolve(resolveBeside(path, dataDir), "cache"))
  );
}

const refused = (problems: readonly string[]): Refused => ({ kind: "refused", problems });
