/**
 * Handles the deployment document on this node's disk: applies it as the source `default`, and compares it with the stored
 * source. Source: specification document 1, States and transitions; design decisions, section 3.
 *
 * The state machine decides by the table; this file reads the document, compiles it first, and reports the outcome.
 */
import { type Log, pause } from "../../../base/index.ts";
import { type Cluster, ClusterError, type WriteOptions } from "../../cluster/index.ts";
import { decideApply, type Edition, formatProblem, type Problem, type Source } from "../../core/config/index.ts";
import {
  commands,
  deployModeKey,
  FILE_SOURCE,
  featureRowKey,
  highestVersion,
  readFeatureLevel,
  readSource,
  type SourceRow,
  sourceRowKey,
  VERSION_GUARD_LEVEL,
} from "../../core/state/index.ts";
import {
  type CompiledSources,
  editionOf,
  type FileStatus,
  type FileStatusInput,
  fileStatus,
} from "./compile-sources.ts";
import { type FileText, readTextSync } from "./read-configuration-files.ts";
import { contentOf } from "./source-content.ts";

/** Timeout of one attempt to write the document, in milliseconds; attempts repeat while the cluster has no leader. */
export const FILE_WRITE_MS = 10_000;

/** Delay between attempts that fail immediately, in milliseconds. */
const RETRY_MS = 1_000;

/** Codes of temporary failures. */
const TEMPORARY_CODES: ReadonlySet<string> = new Set(["no_leader", "busy", "disk_low"]);

export const BY_FILE = { iss: "gateway", sub: "deployment-file" } as const;

/** Codes of refusals caused by the version that the document states. Such a refusal is a fault of the document. */
export const VERSION_REFUSAL_CODES: ReadonlySet<string> = new Set(["version_behind", "version_reused"]);

/** Outcome of applying the document on disk. */
export type FileOutcome =
  | { readonly kind: "applied" | "kept"; readonly revision: number }
  /**
   * The document was refused. `code`: code of the state machine, if it refused. `problems`: faults of the document. `missingSecrets`:
   * names of secrets that it refers to and that do not exist.
   */
  | {
      readonly kind: "refused";
      readonly code: string | undefined;
      readonly problems: readonly Problem[];
      readonly message: string;
      readonly missingSecrets: readonly string[];
    };

interface DeploymentFileOptions {
  readonly cluster: Cluster;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Returns the absolute path; `undefined` if the node file names none. */
  path(): string | undefined;
  stored(): readonly SourceRow[];
  /** Compiles the document as the only source, with this node's current environment, secrets and overlays. */
  compile(source: Source): CompiledSources;
  /** Loads the engines that compiling the text needs. */
  prepare(text: string): Promise<void>;
  isPrepared(text: string): boolean;
}

interface DeploymentFile {
  /**
   * Applies the document. Rejects with a `ClusterError` if the cluster cannot take it, and with `conflict` if there is no file.
   */
  apply(document: FileText | undefined, trigger: "start" | "reload", write: WriteOptions): Promise<FileOutcome>;
  /**
   * Applies the document as a start does: repeats until the cluster has taken or refused it. Resolves with `undefined` if it
   * was given up.
   */
  applyUntilDecided(document: () => FileText | undefined): Promise<FileOutcome | undefined>;
  /** Logs the outcome. */
  logOutcome(outcome: FileOutcome): void;
  /**
   * Compares the document with the stored source. `compiled`: the stored configuration as it compiles here. `isServing`: whether any
   * configuration is in force. `missingModels`: names of missing models.
   */
  status(
    compiled: CompiledSources["compiled"] | undefined,
    isServing: boolean,
    missingModels: string | undefined,
  ): FileStatus;
  /** Forgets remembered results; called when an input of the document has changed. */
  clearCache(): void;
}

export function openDeploymentFile(options: DeploymentFileOptions): DeploymentFile {
  const { cluster, log, signal } = options;
  const { view } = cluster;
  const compiledByDigest = new Map<string, CompiledSources>();
  let cachedEdition: { readonly value: string; readonly edition: Edition } | undefined;

  /**
   * Compiles the document as the only source. Remembers a success, since the status is read often; not a failure, since a new
   * secret may fix it.
   */
  const compileCached = (text: string): CompiledSources => {
    const { digest } = editionOf(text, undefined);
    const known = compiledByDigest.get(digest);
    if (known !== undefined) return known;
    const next = options.compile({ name: FILE_SOURCE, text });
    if (next.compiled.kind === "compiled") {
      compiledByDigest.clear();
      compiledByDigest.set(digest, next);
    }
    return next;
  };

  const editionIn = (text: string): Edition =>
    editionOf(text, compileCached(text).deployment.versions.get(FILE_SOURCE));

  const storedEdition = (): Edition | undefined => {
    const value = view.get(sourceRowKey(FILE_SOURCE));
    if (value === undefined) return undefined;
    if (cachedEdition?.value === value) return cachedEdition.edition;
    const row = readSource(value);
    const { sha256, version } = row;
    const isGuarded = readFeatureLevel(view.get(featureRowKey)) >= VERSION_GUARD_LEVEL;
    const highest = version === null && isGuarded ? highestVersion(view, row) : undefined;
    const edition: Edition = {
      digest: sha256,
      ...(version !== null && { version }),
      ...(highest !== undefined && { highest }),
    };
    // Below the feature level the edition is computed differently; it is not remembered until the level has risen.
    if (isGuarded) cachedEdition = { value, edition };
    return edition;
  };

  const writer = (): FileStatusInput["writer"] => {
    if (view.get(deployModeKey) !== undefined) return { kind: "file" };
    const names = options.stored().map(({ name }) => name);
    return names.length === 0 ? undefined : { kind: "api", names };
  };

  const describeFile = (file: FileText): FileStatusInput["file"] => {
    if (file.kind === "problem") return file;
    const { text, name } = file;
    if (!options.isPrepared(text)) {
      // This is not awaited: the next query learns whether the text compiles.
      options.prepare(text).catch((error: unknown) => log.error("the rule engine cannot be loaded", { error }));
      return { kind: "document", edition: editionIn(text) };
    }
    const { compiled } = compileCached(text);
    if (compiled.kind === "compiled") return { kind: "document", edition: editionIn(text) };
    const first = compiled.problems.find(({ severity }) => severity === "error");
    const message = first === undefined ? "it does not compile" : formatProblem({ ...first, file: name });
    return { kind: "problem", message };
  };

  const apply: DeploymentFile["apply"] = async (document, trigger, write) => {
    if (document === undefined) {
      throw new ClusterError(
        "conflict",
        "the node file names no `deployment`: the deployment arrives through the admin API, as sources",
      );
    }
    if (document.kind === "problem") return refusedOutcome({ message: document.message });
    await options.prepare(document.text);
    compiledByDigest.clear();
    const { compiled, missing } = compileCached(document.text);
    if (compiled.kind === "refused") {
      const problems = compiled.problems.filter(({ severity }) => severity === "error");
      const message = problems[0] === undefined ? "it does not compile" : formatProblem(problems[0]);
      return refusedOutcome({ problems, message, missingSecrets: missing });
    }
    const { digest, version = null } = editionIn(document.text);
    const command = commands.sourcePut({
      name: FILE_SOURCE,
      ...(await contentOf(cluster, document.text, write)),
      sha256: digest,
      version,
      writer: "file",
      expect_revision: null,
      trigger,
    });
    const result = await cluster.write(command, write);
    if (result.kind === "refused") {
      const { code, message } = result;
      // The state machine's message contains no versions, so it is made again here.
      const { kind, reason } = decideApply({ trigger, stored: storedEdition(), document: editionIn(document.text) });
      return refusedOutcome({ code, message: VERSION_REFUSAL_CODES.has(code) && kind === "refuse" ? reason : message });
    }
    const { revision, applied } = result.value as { readonly revision: number; readonly applied: boolean };
    return { kind: applied ? "applied" : "kept", revision };
  };

  const logOutcome = (outcome: FileOutcome): void => {
    if (outcome.kind !== "refused") {
      log.info(
        outcome.kind === "applied"
          ? "the deployment document on disk is stored"
          : "the deployment document on disk is the stored one",
        { revision: outcome.revision },
      );
      return;
    }
    const { problems, message: reason, code } = outcome;
    if (code === "waits") {
      log.warn("the deployment document on disk waits for a reload; what the cluster stores keeps serving", { reason });
      return;
    }
    const file = options.path();
    for (const problem of problems) {
      log.error("configuration refused", { problem: formatProblem({ ...problem, file: file ?? problem.file }) });
    }
    log.error("the deployment document on disk is not applied; what the cluster stores keeps serving", {
      ...(problems.length === 0 ? { reason } : { problems: problems.length }),
    });
  };

  return {
    apply,
    async applyUntilDecided(document) {
      const write: WriteOptions = { by: BY_FILE, timeoutMs: FILE_WRITE_MS, signal };
      let lastLogged = "";
      while (!signal.aborted) {
        try {
          const outcome = await apply(document(), "start", write);
          if (outcome.kind !== "refused" || outcome.missingSecrets.length === 0) return outcome;
          // The cluster may have the secret while this node is behind.
          await cluster.readBarrier({ timeoutMs: FILE_WRITE_MS, signal }).catch(() => undefined);
          return await apply(document(), "start", write);
        } catch (error) {
          if (signal.aborted) return undefined;
          if (!(error instanceof ClusterError) || !TEMPORARY_CODES.has(error.code)) throw error;
          if (lastLogged !== error.code) log.warn("the deployment document on disk waits", { why: error.message });
          lastLogged = error.code;
          await pause(RETRY_MS, signal);
        }
      }
      return undefined;
    },
    logOutcome: logOutcome,
    status(compiled, isServing, missingModels) {
      const path = options.path();
      const file = path === undefined ? undefined : describeFile(readTextSync(path));
      return fileStatus({ stored: storedEdition(), writer: writer(), file, compiled, isServing, missingModels });
    },
    clearCache: () => compiledByDigest.clear(),
  };
}

function refusedOutcome(facts: {
  readonly code?: string;
  readonly problems?: readonly Problem[];
  readonly message: string;
  readonly missingSecrets?: readonly string[];
}): FileOutcome {
  const { code, problems = [], message, missingSecrets = [] } = facts;
  return { kind: "refused", code, problems, message, missingSecrets };
}
