/**
 * Composes and compiles the configuration from its sources, for the daemon, a dry run and `check` alike, and compares the
 * deployment document on disk with the stored source. Source: specification document 1, States and transitions; design
 * decisions, section 3.
 */

import { createHash } from "node:crypto";
import { anySignal } from "../../../base/index.ts";
import type { NamedOverlay } from "../../core/catalog/index.ts";
import {
  type ComposedDeployment,
  composeDeployment,
  type Difference,
  decideApply,
  differencesOf,
  type Edition,
  formatProblem,
  type NodeFile,
  type Problem,
  type Source,
  versionBound,
} from "../../core/config/index.ts";
import type { Secrets } from "../../secrets/index.ts";
import {
  type Compiled,
  type CompileInput,
  compileDeployment,
  type GuardrailEngine,
  type Rules,
  type TrustedSettings,
} from "../../snapshot/index.ts";
import { unprotectedCredentialWarning } from "./unprotected-credentials.ts";

export interface SourcesInput {
  /** Sources in any order. Problems contain the name: that of the stored source, or the path of a file. */
  readonly sources: readonly Source[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Variables that the node file refers to, which no document of the admin API may read. */
  readonly ofNodeFile?: ReadonlySet<string>;
  /** Files of `secrets_dir`, then the sealed ones. */
  readonly secrets: Pick<Secrets, "secret" | "file">;
  /** Catalog overlays from files of this node. */
  readonly fileOverlays: readonly NamedOverlay[];
  /** Revision of the stored content, the same on all nodes and higher after each change; 0 for documents that are not stored. */
  readonly limitRev?: number;
  /** See `GovernanceInput`. */
  readonly hasReconciled?: boolean;
  /** Settings of the node file; `undefined` if no node file could be read. */
  readonly trusted?: TrustedSettings | undefined;
  /** Engine of access rules; required if the sources may contain rules. */
  readonly rules?: Rules | undefined;
  /** Engine of guardrails; required if the sources may contain guardrails. */
  readonly guardrails?: GuardrailEngine | undefined;
  /** Declared models that are in the cache. */
  readonly models?: CompileInput["models"];
  readonly storedAt?: CompileInput["storedAt"];
}

export interface CompiledSources {
  readonly compiled: Compiled;
  /** The composed deployment; `used` names the secrets to watch, `versions` the edition of each source. */
  readonly deployment: ComposedDeployment;
  /** Secrets that are referred to and do not exist. */
  readonly missing: readonly string[];
}

export function compileSources(input: SourcesInput): CompiledSources {
  const { sources, env, ofNodeFile, secrets, limitRev = 0, ...nodeSettings } = input;
  const missing = new Set<string>();
  const deployment = composeDeployment(sources, {
    env: (name) => env[name],
    secret(name) {
      const found = secrets.secret(name);
      if (found.kind === "problem" && found.missing) missing.add(name);
      return found;
    },
    file: (name) => secrets.file(name),
    ...(ofNodeFile !== undefined && { ofNodeFile }),
  });
  const compiled = compileDeployment({ trusted: undefined, rules: undefined, ...nodeSettings, deployment, limitRev });
  return { compiled, deployment, missing: [...missing] };
}

/** Maximum time to load the models, in milliseconds; a graph takes seconds, so a longer load has failed. */
const PREPARE_LIMIT_MS = 180_000;

/** Returns the sources with the models that they need loaded, or refused if that fails. Rejects with the signal's reason. */
export async function prepareSources(sources: CompiledSources, signal: AbortSignal): Promise<CompiledSources> {
  const { compiled, deployment } = sources;
  if (compiled.kind !== "compiled" || compiled.prepare === undefined) return sources;
  const limit = AbortSignal.timeout(PREPARE_LIMIT_MS);
  const found = await compiled.prepare(anySignal([signal, limit])).catch((error: unknown) => {
    signal.throwIfAborted();
    if (!limit.aborted) throw error;
    const message = `the models of its detectors were not loaded within ${PREPARE_LIMIT_MS / 1_000} s`;
    return [deployment.problem(["guardrails", "detectors"], message)];
  });
  if (found.length === 0) return sources;
  const problems = [...compiled.problems, ...found];
  const isRefused = found.some(({ severity }) => severity === "error");
  return { ...sources, compiled: isRefused ? { kind: "refused", problems } : { ...compiled, problems } };
}

/**
 * Returns the node settings that a deployment is validated against. `started`: settings with which the admin API and the
 * inspector were opened; a reload does not change these.
 */
export function trustedSettingsOf(nodeFile: NodeFile, started: NodeFile = nodeFile): TrustedSettings {
  const adminAudiences = new Map<string, Set<string>>();
  for (const { issuer, audience } of [nodeFile, started].flatMap(({ admin }) => admin?.issuers ?? [])) {
    adminAudiences.set(issuer, (adminAudiences.get(issuer) ?? new Set()).add(audience));
  }
  return {
    issuers: (nodeFile.issuers ?? []).map(({ name }) => name),
    adminAudiences,
    inspector: inspectorTermsOf(started),
  };
}

function inspectorTermsOf({ extproc, cluster }: NodeFile): TrustedSettings["inspector"] {
  if (extproc?.inspect_listen === undefined) return undefined;
  return { inspectsResponses: extproc.inspect_responses !== "", isInspectionOnly: cluster.data_dir === undefined };
}

type SourcesChange =
  | { readonly kind: "compiles"; readonly differences: readonly Difference[]; readonly warnings: readonly Problem[] }
  | { readonly kind: "refused"; readonly problems: readonly Problem[] };

const NONE = { kind: "problem", message: "an empty deployment refers to nothing" } as const;
const NOTHING = { env: () => undefined, secret: () => NONE, file: () => NONE };

/** Returns the changes that replacing `running` by `next` would make, for a dry run and for a write. */
export function changeOf(running: CompiledSources | undefined, next: CompiledSources): SourcesChange {
  const { compiled, deployment } = next;
  if (compiled.kind === "refused") return compiled;
  // Without a running configuration, the defaults of an empty deployment are not a difference.
  const before = running?.deployment ?? composeDeployment([], NOTHING);
  return {
    kind: "compiles",
    differences: differencesOf(before.asWritten, deployment.asWritten),
    warnings: [...compiled.problems, ...newlyUnprotected(running, next)],
  };
}

/** Returns the warning about credentials that every client can use, if that is not so already. */
function newlyUnprotected(running: CompiledSources | undefined, next: CompiledSources): readonly Problem[] {
  const warning = unprotectedWarningOf(next);
  if (warning === undefined || (running !== undefined && unprotectedWarningOf(running) !== undefined)) return [];
  // The warning is about a key that no source has, so there is no position.
  return [{ severity: "warning", file: "", line: 0, column: 0, path: "auth", message: warning }];
}

const unprotectedWarningOf = ({ compiled }: CompiledSources): string | undefined =>
  compiled.kind === "compiled" ? unprotectedCredentialWarning(compiled.snapshot) : undefined;

/** Returns the edition of a text. `digest`: hex SHA-256 of the text in UTF-8, as in the stored source. */
export const editionOf = (text: string, version: number | undefined): Edition => ({
  digest: createHash("sha256").update(text).digest("hex"),
  ...(version !== undefined && { version }),
});

export interface FileStatus {
  readonly state: "in_sync" | "diverged" | "behind" | "no_version" | "no_file" | "refused";
  readonly message: string;
  /** Action to take; empty if none is needed. */
  readonly remedy: string;
}

export interface FileStatusInput {
  /** The stored source `default`; `undefined` while nothing is stored. */
  readonly stored: Edition | undefined;
  /** Writer of the stored sources; `undefined` while nothing is stored. */
  readonly writer: { readonly kind: "file" } | { readonly kind: "api"; readonly names: readonly string[] } | undefined;
  /** Document on disk; `undefined` if the node file names none. `problem`: it cannot be read or does not compile. */
  readonly file:
    | { readonly kind: "document"; readonly edition: Edition }
    | { readonly kind: "problem"; readonly message: string }
    | undefined;
  /** The stored sources, compiled on this node; `undefined` while nothing is stored. */
  readonly compiled: Compiled | undefined;
  /** Whether a configuration is in force, possibly an earlier one. */
  readonly isServing: boolean;
  /** Models that are being fetched for the stored sources, or cannot be; `undefined` if none are missing. */
  readonly missingModels?: string | undefined;
}

/** Remedy for a document without a version, which a signal does not apply. */
const RELOAD_BY_API = "run `gateway config reload`";
const RELOAD = "run `gateway config reload`, or send SIGHUP to the process";

export function fileStatus({
  stored,
  writer,
  file,
  compiled,
  isServing,
  missingModels = "its models",
}: FileStatusInput): FileStatus {
  if (compiled?.kind === "awaits") {
    const meanwhile = isServing ? "keeps the previous configuration until then" : "serves nothing until then";
    return {
      state: "diverged",
      message: `this node is downloading models that the stored configuration needs, and ${meanwhile}: ${missingModels}`,
      remedy: "",
    };
  }
  if (compiled?.kind === "refused") {
    const first = compiled.problems.find(({ severity }) => severity === "error");
    const meanwhile = isServing ? "and keeps the previous one" : "and serves nothing";
    return {
      state: "refused",
      message: `this node cannot compile the stored configuration ${meanwhile}${first === undefined ? "" : `: ${formatProblem(first)}`}`,
      remedy:
        file === undefined
          ? "provide what this node lacks, or write a source that it can compile"
          : `provide what this node lacks; or correct the file, raise its \`version\` and ${RELOAD}`,
    };
  }
  if (file === undefined) {
    return writer?.kind === "file"
      ? {
          state: "no_file",
          message: "no file on this node: the source `default` is written by the file of another node",
          remedy: "edit the file that `deployment` names on the node that has it",
        }
      : { state: "no_file", message: "no file: the deployment arrives through the admin API", remedy: "" };
  }
  if (writer?.kind === "api") {
    return {
      state: "diverged",
      message: `the file is not applied: the deployment arrives through the admin API, as ${writer.names.join(", ")}`,
      remedy: `remove \`deployment\` from the node file; or delete these sources and ${RELOAD}`,
    };
  }
  if (file.kind === "problem") {
    return {
      state: "refused",
      message: `the file would be refused: ${file.message}`,
      remedy: `correct the file${stored === undefined ? "" : " (`gateway config show default` prints what is in force)"} and ${RELOAD}`,
    };
  }
  return compareEditions(stored, file.edition);
}

function compareEditions(stored: Edition | undefined, document: Edition): FileStatus {
  if (stored === undefined) {
    return {
      state: "diverged",
      message: "nothing is stored yet; the file becomes the source `default` once the cluster has a leader",
      remedy: "",
    };
  }
  const { kind, reason } = decideApply({ trigger: "start", stored, document });
  switch (kind) {
    case "keep":
      return { state: "in_sync", message: reason, remedy: "" };
    case "apply":
      return { state: "diverged", message: `${reason}, and is not applied yet`, remedy: RELOAD };
    case "wait":
      return { state: "no_version", message: reason, remedy: `${RELOAD_BY_API}, or give the document a \`version\`` };
    case "refuse": {
      const bound = versionBound(stored);
      return document.version === bound
        ? { state: "diverged", message: reason, remedy: `raise \`version\` in the file and ${RELOAD}` }
        : {
            state: "behind",
            message: reason,
            remedy: `copy the stored document into the file, or raise its \`version\` above ${bound} and ${RELOAD}`,
          };
    }
    default:
      return kind satisfies never;
  }
}
