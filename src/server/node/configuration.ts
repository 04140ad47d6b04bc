/**
 * The life of a node's configuration: what the cluster stores is compiled here and served, and the deployment document
 * on this disk becomes the source `default` by the table of specification document 1 (States and transitions).
 *
 * Rebuilds happen one after the other. A configuration that does not compile on this node leaves the one before in
 * force, whole.
 */
import type { Log } from "../../base/index.ts";
import { type Cluster, ClusterError, putBlob, type WriteOptions } from "../cluster/index.ts";
import { type Edition, formatProblem, type NodeFile, type Problem, type Source } from "../core/config/index.ts";
import {
  type CommandResult,
  commands,
  FILE_SOURCE,
  readRevision,
  readSource,
  revisionRowKey,
  type SourceRow,
  sourceRowKey,
} from "../core/state/index.ts";
import { openSecrets, type SealedSecrets, type Secrets } from "../secrets/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import { type FileText, openDisk, readTextSync } from "./files.ts";
import { type NodeDocuments, readNode } from "./load.ts";
import { type CompiledSources, compileSources, editionOf, type FileStatus, fileStatus } from "./sources.ts";

/** Node-file keys that a running process can change (design decisions, section 5). */
const RELOADABLE: ReadonlySet<string> = new Set(["issuers", "secrets_dir", "catalog_overlay_paths", "deployment"]);

/** A text above this travels in parts. */
const MAX_INLINE_BYTES = 512 * 1024;

const FILE_WRITE_MS = 10_000;

const BY_FILE = { iss: "gateway", sub: "deployment-file" } as const;

export interface ConfigurationOptions {
  /** Sound. */
  readonly documents: NodeDocuments;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cluster: Cluster;
  /** Undefined without a cluster secret. */
  readonly sealed: SealedSecrets | undefined;
  readonly log: Log;
  readonly signal: AbortSignal;
  onSnapshot(snapshot: Snapshot): void;
}

/** What became of the document on disk. */
export type FileOutcome =
  | { readonly kind: "applied" | "kept"; readonly revision: number }
  | { readonly kind: "refused"; readonly problems: readonly Problem[]; readonly message: string };

export interface Configuration {
  /** What runs; undefined before the first. */
  running(): CompiledSources | undefined;
  /** Revision of each source that runs. */
  served(): ReadonlyMap<string, number>;
  /** Problems of the newest configuration where it does not compile here. */
  refusal(): readonly Problem[] | undefined;
  stored(): readonly SourceRow[];
  textOf(name: string, revision: number): string | undefined;
  /** With this node's environment, secrets and overlays. */
  compile(sources: readonly Source[]): CompiledSources;
  /** Resolves once everything that changed before the call was compiled. */
  settled(): Promise<void>;
  onChange(listener: () => void): () => void;
  fileStatus(): FileStatus;
  /** Absolute path of the deployment document, where there is one. */
  documentPath(): string | undefined;
  /** The document on disk, to the whole cluster, unless it is behind. */
  applyFile(trigger: "start" | "reload", write: WriteOptions): Promise<FileOutcome>;
  /** The node file is read again, then its document goes by the table; what is refused is logged. */
  reload(): Promise<void>;
  /** Starts with what is stored, and carries the document on disk to the cluster in the background. */
  begin(): void;
  close(): void;
}

export function openConfiguration(options: ConfigurationOptions): Configuration {
  const { cluster, env, log, sealed } = options;
  const { view } = cluster;
  const listeners = new Set<() => void>();
  let { documents } = options;
  let running: CompiledSources | undefined;
  let served: ReadonlyMap<string, number> = new Map();
  let refusal: readonly Problem[] | undefined;
  let watching: { close(): void } | undefined;
  let turn: Promise<void> = Promise.resolve();
  let isQueued = false;
  let lastProblems = "";

  const stored = (): readonly SourceRow[] => Array.from(view.scan("source/"), ([, value]) => readSource(value));

  const textOf = (name: string, revision: number): string | undefined => {
    const row = view.get(revisionRowKey(name, revision));
    return row === undefined ? undefined : (readRevision(row).text ?? undefined);
  };

  const compileWith = (sources: readonly Source[], secrets: Secrets): CompiledSources =>
    compileSources({ sources, env, secrets, fileOverlays: documents.overlays });

  const secretsOfToday = (): Secrets => openSecrets({ dir: documents.secretsDir, sealed });

  /** Compiles what is stored, and serves it where it compiles. */
  const rebuild = (): void => {
    const rows = stored();
    if (rows.length === 0 && running === undefined) return;
    const sources = rows.map(({ name, revision }) => ({ name, text: textOf(name, revision) ?? "" }));
    const secrets = secretsOfToday();
    const next = compileWith(sources, secrets);
    const { compiled, deployment } = next;
    watch(secrets, deployment.used);
    if (compiled.kind === "refused") {
      refusal = compiled.problems;
      const told = compiled.problems.map(formatProblem);
      // A secret file that stays broken is looked at every ten seconds.
      if (told.join("\n") !== lastProblems) {
        for (const problem of told) log.error("configuration refused", { problem });
        if (running !== undefined) log.error("the previous configuration keeps serving", { problems: told.length });
      }
      lastProblems = told.join("\n");
    } else {
      refusal = undefined;
      lastProblems = "";
      running = next;
      served = new Map(rows.map(({ name, revision }) => [name, revision]));
      for (const problem of compiled.problems) log.warn("configuration", { warning: formatProblem(problem) });
      options.onSnapshot(compiled.snapshot);
      log.info("configuration applied", {
        sources: rows.map(({ name, revision }) => `${name}@${revision}`),
        providers: compiled.snapshot.providers.length,
      });
    }
    for (const listener of [...listeners]) listener();
  };

  const watch = (secrets: Secrets, used: CompiledSources["deployment"]["used"]): void => {
    watching?.close();
    watching = secrets.watch({
      used,
      onChange: () => queueRebuild(),
      onProblem: (message) => log.warn("a secret cannot be read; its last value is kept", { problem: message }),
      signal: options.signal,
    });
  };

  /** Changes that come together are compiled once. */
  const queueRebuild = (): void => {
    if (isQueued || options.signal.aborted) return;
    isQueued = true;
    turn = turn.then(() => {
      isQueued = false;
      try {
        rebuild();
      } catch (error) {
        log.error("the configuration could not be compiled", { error });
      }
    });
  };

  const unwatch = [
    view.watch("source/", queueRebuild),
    view.watch("secret/", () => {
      if ((running?.deployment.used.secrets.length ?? 0) > 0 || refusal !== undefined) queueRebuild();
    }),
  ];

  // --- the document on disk ---

  const judged = new Map<string, CompiledSources>();

  /** As the only source; remembered, since its standing is asked for again and again. */
  const judge = (text: string): CompiledSources => {
    const { digest } = editionOf(text, undefined);
    const known = judged.get(digest);
    if (known !== undefined) return known;
    judged.clear();
    const next = compileWith([{ name: FILE_SOURCE, text }], secretsOfToday());
    judged.set(digest, next);
    return next;
  };

  const editionIn = (text: string): Edition => editionOf(text, judge(text).deployment.versions.get(FILE_SOURCE));

  const storedEdition = (): Edition | undefined => {
    const value = view.get(sourceRowKey(FILE_SOURCE));
    if (value === undefined) return undefined;
    const { sha256, version } = readSource(value);
    return { digest: sha256, ...(version !== null && { version }) };
  };

  const applyFile: Configuration["applyFile"] = async (trigger, write) => {
    const { document } = documents;
    if (document === undefined) {
      throw new ClusterError(
        "conflict",
        "the node file names no `deployment`: the deployment arrives through the admin API, as sources",
      );
    }
    if (document.kind === "problem") return { kind: "refused", problems: [], message: document.message };
    judged.clear();
    const { compiled } = judge(document.text);
    if (compiled.kind === "refused") {
      const errors = compiled.problems.filter(({ severity }) => severity === "error");
      return { kind: "refused", problems: errors, message: errors[0] === undefined ? "" : formatProblem(errors[0]) };
    }
    const result = await putSource(document.text, trigger, write);
    if (result.kind === "refused") return { kind: "refused", problems: [], message: result.message };
    const { revision, applied } = result.value as { readonly revision: number; readonly applied: boolean };
    return { kind: applied ? "applied" : "kept", revision };
  };

  const putSource = async (text: string, trigger: "start" | "reload", write: WriteOptions): Promise<CommandResult> => {
    const edition = editionIn(text);
    const bytes = Buffer.from(text, "utf8");
    const isLarge = bytes.length > MAX_INLINE_BYTES;
    const content = isLarge ? { blob: await putBlob(cluster, bytes, write) } : { text };
    const command = commands.sourcePut({
      name: FILE_SOURCE,
      ...content,
      sha256: edition.digest,
      version: edition.version ?? null,
      writer: "file",
      expect_revision: null,
      trigger,
    });
    return await cluster.write(command, write);
  };

  /** Until the cluster has taken or refused it: a node may start long before its cluster has a leader. */
  const carryFile = async (): Promise<void> => {
    while (!options.signal.aborted) {
      try {
        report(await applyFile("start", { by: BY_FILE, timeoutMs: FILE_WRITE_MS, signal: options.signal }));
        return;
      } catch (error) {
        if (options.signal.aborted) return;
        if (!(error instanceof ClusterError) || (error.code !== "no_leader" && error.code !== "busy")) throw error;
        log.debug("the deployment document waits for a leader", { why: error.message });
      }
    }
  };

  const report = (outcome: FileOutcome): void => {
    if (outcome.kind === "refused") {
      for (const problem of outcome.problems) log.error("configuration refused", { problem: formatProblem(problem) });
      log.error("the deployment document on disk is not applied; what the cluster stores keeps serving", {
        reason: outcome.message,
      });
    } else if (outcome.kind === "applied") {
      log.info("the deployment document on disk is stored", { revision: outcome.revision });
    }
  };

  const reload = async (): Promise<void> => {
    const next = await readNode(documents.path, env);
    if (!next.isSound || next.nodeFile === undefined) {
      for (const problem of next.problems) log.error("configuration refused", { problem });
      log.error("the previous configuration keeps serving", { problems: next.problems.length });
      return;
    }
    for (const warning of next.problems) log.warn("configuration", { warning });
    const before = options.documents.nodeFile;
    if (before !== undefined) {
      for (const key of changedKeys(before, next.nodeFile)) {
        if (!RELOADABLE.has(key)) log.warn("a change of the node file needs a restart", { key });
      }
    }
    documents = next;
    queueRebuild();
    if (next.document === undefined) return;
    try {
      report(await applyFile("reload", { by: BY_FILE, timeoutMs: FILE_WRITE_MS, signal: options.signal }));
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      log.error("the deployment document on disk is not applied", { reason: error.message });
    }
    await turn;
  };

  return {
    running: () => running,
    served: () => served,
    refusal: () => refusal,
    stored,
    textOf,
    compile: (sources) => compileWith(sources, secretsOfToday()),
    settled: () => turn,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    fileStatus() {
      const { documentPath } = documents;
      const file = documentPath === undefined ? undefined : standingOf(readTextSync(documentPath), judge, editionIn);
      const compiled = refusal === undefined ? running?.compiled : { kind: "refused" as const, problems: refusal };
      return fileStatus({ stored: storedEdition(), file, compiled });
    },
    documentPath: () => documents.documentPath,
    async applyFile(trigger, write) {
      const { documentPath } = documents;
      if (documentPath !== undefined) {
        documents = { ...documents, document: await openDisk().readText(documentPath) };
      }
      const outcome = await applyFile(trigger, write);
      await turn;
      return outcome;
    },
    reload,
    begin() {
      queueRebuild();
      if (documents.document === undefined) return;
      carryFile().catch((error: unknown) => log.error("the deployment document could not be stored", { error }));
    },
    close() {
      watching?.close();
      for (const end of unwatch) end();
    },
  };
}

type Standing = Parameters<typeof fileStatus>[0]["file"];

function standingOf(
  file: FileText,
  judge: (text: string) => CompiledSources,
  editionIn: (text: string) => Edition,
): Standing {
  if (file.kind === "problem") return file;
  const { compiled } = judge(file.text);
  if (compiled.kind === "compiled") return { kind: "document", edition: editionIn(file.text) };
  const first = compiled.problems.find(({ severity }) => severity === "error");
  return { kind: "problem", message: first === undefined ? "it does not compile" : formatProblem(first) };
}

function changedKeys(before: NodeFile, after: NodeFile): readonly string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  const text = (file: NodeFile, key: string): string | undefined => JSON.stringify(file[key as keyof NodeFile]);
  return [...keys].filter((key) => text(before, key) !== text(after, key));
}
