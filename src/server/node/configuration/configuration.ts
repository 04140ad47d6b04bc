/**
 * Configuration of a node: compiles and serves the sources that the cluster stores, and applies the deployment document of this
 * disk to the source `default` by the table of specification document 1 (States and transitions). Rebuilds run one after another.
 * A configuration that does not compile leaves the previous one in force and is compiled again every ten seconds, since a missing
 * input may appear without a change of the state.
 */
import { ClusterError } from "../../cluster/index.ts";
import { formatProblem, type Problem, type Source } from "../../core/config/index.ts";
import {
  FILE_SOURCE,
  readRevision,
  readSource,
  revisionRowKey,
  type SourceRow,
  secretRowKey,
} from "../../core/state/index.ts";
import { missingModelsText } from "../../models/index.ts";
import { openSecrets, type Secrets } from "../../secrets/index.ts";
import {
  type GuardrailEngine,
  loadGuardrails,
  loadRules,
  mayHoldGuardrails,
  mayHoldRules,
} from "../../snapshot/index.ts";
import { compileFromCache, type Views } from "../model-cache.ts";
import { recordLookups, type TransferredInputs, toTransferredInputs } from "../worker/index.ts";
import {
  type CompiledSources,
  compileSources,
  type FileStatus,
  prepareSources,
  type SourcesInput,
  trustedSettingsOf,
} from "./compile-sources.ts";
import { hasReconciled, limitRevision, machineInputsOf, storedAt, warnOfRestarts } from "./configuration-inputs.ts";
import { nextChange } from "./configuration-status.ts";
import type { Configuration, ConfigurationOptions, StartFailure } from "./configuration-types.ts";
import { BY_FILE, FILE_WRITE_MS, type FileOutcome, openDeploymentFile } from "./deployment-file.ts";
import { readNode } from "./load-documents.ts";
import { type FileText, openDisk } from "./read-configuration-files.ts";
import { unprotectedCredentialWarning } from "./unprotected-credentials.ts";

/** Interval between attempts at a refused configuration, in milliseconds; the same as for checks of secret files. */
const RETRY_REFUSED_MS = 10_000;

export function openConfiguration(options: ConfigurationOptions): Configuration {
  const { cluster, env, log, models: supply, sealed, signal } = options;
  const { view } = cluster;
  const listeners = new Set<() => void>();
  const startupNodeFile = options.documents.nodeFile;
  let { documents } = options;
  let { rules } = documents;
  let guardrails: GuardrailEngine | undefined;
  let loadingGuardrails: ReturnType<typeof loadGuardrails> | undefined;
  let running: CompiledSources | undefined;
  let servedRevisions: ReadonlyMap<string, number> = new Map();
  let refusedSources: CompiledSources | undefined;
  /** Stored configuration whose models are still being fetched. */
  let awaitingSources: CompiledSources | undefined;
  let lastLogged = "";
  let isUnprotectedLogged = false;
  let secretsWatch: { close(): void } | undefined;
  let retryTimer: NodeJS.Timeout | undefined;
  let rebuildQueue: Promise<void> = Promise.resolve();
  let isQueued = false;
  let rebuilds = 0;
  const stored = (): readonly SourceRow[] => Array.from(view.scan("source/"), ([, value]) => readSource(value));

  const textOf = (name: string, revision: number): string | undefined => {
    const row = view.get(revisionRowKey(name, revision));
    return row === undefined ? undefined : (readRevision(row).text ?? undefined);
  };
  const currentSecrets = (): Secrets => openSecrets({ dir: documents.secretsDir, sealed });

  const inputOf = (sources: readonly Source[], secrets: SourcesInput["secrets"], models?: Views): SourcesInput => {
    const { nodeFile, overlays: fileOverlays, variables: ofNodeFile } = documents;
    const trusted = nodeFile && trustedSettingsOf(nodeFile, startupNodeFile);
    const limitRev = limitRevision(view);
    const loaded = { rules, guardrails, models };
    const common = { env, ofNodeFile, secrets, fileOverlays, trusted, hasReconciled: hasReconciled(view) };
    return { sources, ...common, limitRev, storedAt: storedAt(view), ...loaded };
  };
  const compileFrom = (sources: readonly Source[], secrets: SourcesInput["secrets"], models?: Views): CompiledSources =>
    compileSources(inputOf(sources, secrets, models));

  /** Loads the engines that the texts need, before any of them is compiled. */
  const prepare = async (texts: readonly string[]): Promise<void> => {
    rules ??= await loadRules(texts);
    // The counters can be created only once, and two callers may get here at the same time.
    if (guardrails === undefined && texts.some(mayHoldGuardrails)) {
      const { instruments, callModel, preparesDetectorsLazily = false } = options;
      loadingGuardrails ??= loadGuardrails(texts, { instruments, log, callModel, preparesDetectorsLazily });
      guardrails = await loadingGuardrails;
    }
  };

  const compile = async (sources: readonly Source[]): Promise<CompiledSources> => {
    await prepare(sources.map(({ text }) => text));
    const secrets = currentSecrets();
    const looked = await compileFromCache(supply, (models) => compileFrom(sources, secrets, models), signal);
    return prepareSources(looked.sources, signal);
  };

  /**
   * Compiles with the models of the cache. `inputs` returns everything that another process or thread needs to compile the same.
   */
  const compileRecorded = async (sources: readonly Source[], secrets: Secrets) => {
    const recordedSecrets = recordLookups(secrets);
    let input = inputOf(sources, recordedSecrets);
    const compileAndRecord = (models: Views): CompiledSources => {
      input = inputOf(sources, recordedSecrets, models);
      return compileSources(input);
    };
    const looked = await compileFromCache(supply, compileAndRecord, signal);
    return { looked, inputs: (): TransferredInputs => toTransferredInputs(input, recordedSecrets) };
  };

  const compileForTransfer: Configuration["compileForTransfer"] = async (sources) => {
    await prepare(sources.map(({ text }) => text));
    const { looked, inputs } = await compileRecorded(sources, currentSecrets());
    return { ...looked.sources, inputs: inputs() };
  };

  /** Document on disk, if something that it needs cannot be loaded. */
  let unusable: { readonly text: string; readonly sources: CompiledSources } | undefined;

  const file = openDeploymentFile({
    cluster,
    log,
    signal,
    path: () => documents.documentPath,
    stored,
    compile: (source) => (source.text === unusable?.text ? unusable.sources : compileFrom([source], currentSecrets())),
    async prepare(text) {
      await prepare([text]);
      const compiled = compileFrom([{ name: FILE_SOURCE, text }], currentSecrets());
      const sources = await prepareSources(compiled, signal);
      unusable = sources === compiled ? undefined : { text, sources };
    },
    isPrepared: (text) =>
      (rules !== undefined || !mayHoldRules(text)) && (guardrails !== undefined || !mayHoldGuardrails(text)),
  });

  const refusal = (): readonly Problem[] | undefined => refusedSources?.compiled.problems;
  const sourcesOf = (rows: readonly SourceRow[]): readonly Source[] =>
    rows.map(({ name, revision, writer }) => ({
      name,
      text: textOf(name, revision) ?? "",
      isFromApi: writer === "api",
    }));

  /** Compiles the stored sources, and serves them if they compile. */
  const rebuild = async (): Promise<void> => {
    await prepare(sourcesOf(stored()).map(({ text }) => text));
    if (signal.aborted) return;
    const rows = stored();
    if (rows.length === 0 && running === undefined) return;
    rebuilds += 1;
    const secrets = currentSecrets();
    const { looked, inputs } = await compileRecorded(sourcesOf(rows), secrets);
    const next = await applyInOtherProcesses(await prepareSources(looked.sources, signal), inputs);
    if (signal.aborted) return;
    supply.setWanted(looked.needs);
    file.clearCache();
    watch(secrets, next.deployment.used);
    awaitingSources = next.compiled.kind === "awaits" ? next : undefined;
    if (next.compiled.kind === "refused") refuse(next);
    else if (next.compiled.kind === "awaits") reportWaiting();
    else serve(next, rows, next.compiled);
  };

  /** Returns `next`, or a refusal if another process of the node cannot use it. */
  const applyInOtherProcesses = async (
    next: CompiledSources,
    inputs: () => TransferredInputs,
  ): Promise<CompiledSources> => {
    const { otherProcesses } = options;
    if (otherProcesses === undefined || next.compiled.kind !== "compiled") return next;
    const problems = (await otherProcesses.prepare(inputs())).map((line) => next.deployment.problem([], line));
    if (problems.length > 0) return { ...next, compiled: { kind: "refused", problems } };
    await otherProcesses.activate();
    return next;
  };

  const serve = (
    next: CompiledSources,
    rows: readonly SourceRow[],
    { problems, snapshot }: Extract<CompiledSources["compiled"], { kind: "compiled" }>,
  ): void => {
    refusedSources = undefined;
    lastLogged = "";
    running = next;
    servedRevisions = new Map(rows.map(({ name, revision }) => [name, revision]));
    for (const problem of problems) log.warn("configuration", { warning: formatProblem(problem) });
    const open = unprotectedCredentialWarning(snapshot);
    if (open !== undefined && !isUnprotectedLogged) log.warn("configuration", { warning: open });
    isUnprotectedLogged = open !== undefined;
    options.onSnapshot(snapshot);
    guardrails?.keep(snapshot.guardrails);
    log.info("configuration applied", {
      sources: rows.map(({ name, revision }) => `${name}@${revision}`),
      providers: snapshot.providers.length,
    });
    notifyListeners();
  };

  const reportWaiting = (): void => {
    refusedSources = undefined;
    log.info("the configuration is waiting for models", { models: missingModelsText(supply.status()) });
    notifyListeners();
  };

  const refuse = (next: CompiledSources): void => {
    refusedSources = next;
    retryTimer = setTimeout(queueRebuild, RETRY_REFUSED_MS).unref();
    const lines = next.compiled.problems.filter(({ severity }) => severity === "error").map(formatProblem);
    if (lines.join("\n") === lastLogged) return;
    lastLogged = lines.join("\n");
    for (const problem of lines) log.error("configuration refused", { problem });
    log.error(
      running === undefined ? "nothing is served until it compiles" : "the previous configuration keeps serving",
      { problems: lines.length },
    );
    notifyListeners();
  };

  const notifyListeners = (): void => {
    for (const listener of [...listeners]) listener();
  };

  const watch = (secrets: Secrets, used: CompiledSources["deployment"]["used"]): void => {
    secretsWatch?.close();
    secretsWatch = secrets.watch({
      used,
      onChange: () => queueRebuild(),
      onProblem: (message) => log.warn("a secret cannot be read; its last value stays in use", { problem: message }),
      signal,
    });
  };

  /** Queues a rebuild. Changes at the same time are compiled once. */
  const queueRebuild = (): void => {
    if (isQueued || signal.aborted) return;
    isQueued = true;
    clearTimeout(retryTimer);
    rebuildQueue = rebuildQueue.then(async () => {
      isQueued = false;
      try {
        await rebuild();
      } catch (error) {
        log.error("the configuration could not be compiled; it is tried again", { error });
        retryTimer = setTimeout(queueRebuild, RETRY_REFUSED_MS).unref();
      }
    });
  };

  const isInUse = (keys: ReadonlySet<string>): boolean =>
    running?.deployment.used.secrets.some((name) => keys.has(secretRowKey(name))) === true;

  const unwatch = [
    supply.onChange(() => {
      if (awaitingSources === undefined) return;
      if (supply.status().every(({ state }) => state === "ready")) queueRebuild();
      else notifyListeners();
    }),
    view.watch("source/", queueRebuild),
    view.watch("secret/", (mutations) => {
      file.clearCache();
      const isConcerned = mutations === undefined || isInUse(new Set(mutations.map(({ key }) => key)));
      if (refusedSources !== undefined || isConcerned) queueRebuild();
    }),
    // This node may be able to open a key that was wrapped again.
    view.watch("ring/", () => {
      if (refusedSources !== undefined) queueRebuild();
    }),
  ];

  const reload = async (): Promise<void> => {
    const next = await readNode(documents.path, env);
    if (!next.isSound || next.nodeFile === undefined) {
      for (const problem of next.problems) log.error("configuration refused", { problem });
      log.error("the previous configuration keeps serving", { problems: next.problems.length });
      return;
    }
    for (const warning of next.problems) log.warn("configuration", { warning });
    const before = options.documents.nodeFile;
    if (before !== undefined) warnOfRestarts(before, next.nodeFile, log);
    const areInputsChanged = machineInputsOf(documents) !== machineInputsOf(next);
    const rebuiltBefore = rebuilds;
    documents = next;
    options.onNodeFile(next.nodeFile);
    file.clearCache();
    if (next.document !== undefined) await applyBySignal();
    await rebuildQueue;
    // The document is applied before a rebuild, because the stored configuration may need an input that was just removed.
    if (areInputsChanged && rebuilds === rebuiltBefore) queueRebuild();
    await rebuildQueue;
    log.info("reloaded", { file_status: fileStatusNow().state });
  };

  const readDocument = async (): Promise<FileText | undefined> => {
    const { documentPath } = documents;
    if (documentPath !== undefined) documents = { ...documents, document: await openDisk().readText(documentPath) };
    return documents.document;
  };

  /** Applies the document as at a start: one without a version that differs from the stored one waits for a reload by the API. */
  const applyBySignal = async (): Promise<void> => {
    try {
      file.logOutcome(await file.apply(documents.document, "start", { by: BY_FILE, timeoutMs: FILE_WRITE_MS, signal }));
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      log.error("the deployment document on disk is not applied; what the cluster stores keeps serving", {
        reason: error.message,
      });
    }
  };

  const begin = async (): Promise<StartFailure | undefined> => {
    queueRebuild();
    await rebuildQueue;
    if (documents.document === undefined) return undefined;
    for (;;) {
      const secretChange = nextChange(view, "secret/", signal);
      const outcome = await file.applyUntilDecided(() => documents.document);
      if (outcome === undefined) return undefined;
      if (outcome.kind !== "kept") file.logOutcome(outcome);
      await rebuildQueue;
      const startFailure = running === undefined ? startFailureOf(outcome) : undefined;
      const waits = outcome.kind === "refused" && outcome.missingSecrets.length > 0 && stored().length === 0;
      if (startFailure !== undefined || !waits) return startFailure;
      await secretChange;
      if (signal.aborted) return undefined;
    }
  };

  /**
   * Returns the reason why only an operator can help; `undefined` while a missing secret may still be sealed, or another member
   * may still write a document.
   */
  const startFailureOf = (outcome: FileOutcome): StartFailure | undefined => {
    const isAlone = cluster.status().members.length <= 1;
    if (refusedSources !== undefined) {
      const problems = refusedSources.compiled.problems.map(formatProblem);
      return sealed !== undefined && refusedSources.missing.length > 0 ? undefined : { kind: "refused", problems };
    }
    if (outcome.kind !== "refused" || !isAlone || stored().length > 0) return undefined;
    const problems = outcome.problems.map(formatProblem);
    return { kind: "refused", problems: problems.length > 0 ? problems : [outcome.message] };
  };

  const fileStatusNow = (): FileStatus =>
    file.status(
      (refusedSources ?? awaitingSources ?? running)?.compiled,
      running !== undefined,
      missingModelsText(supply.status()),
    );

  return {
    running: () => running,
    servedRevisions: () => servedRevisions,
    refusal,
    stored,
    textOf,
    compile,
    compileForTransfer: compileForTransfer,
    whenRebuilt: () => rebuildQueue,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    fileStatus: fileStatusNow,
    documentPath: () => documents.documentPath,
    readDocument,
    async applyFile(write) {
      const outcome = await file.apply(await readDocument(), "reload", write);
      await rebuildQueue;
      return outcome;
    },
    reload,
    begin,
    async askSession(question, until) {
      if (guardrails === undefined) throw new Error("no detector with a model is in force");
      return guardrails.askSession(question, until);
    },
    close() {
      clearTimeout(retryTimer);
      secretsWatch?.close();
      for (const end of unwatch) end();
      guardrails?.close();
    },
  };
}
