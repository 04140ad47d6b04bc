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
import { type CrossingInputs, crossing, recorded } from "../worker/index.ts";
import {
  type CompiledSources,
  compileSources,
  type FileStatus,
  preparedSources,
  type SourcesInput,
  trustedBy,
} from "./compile-sources.ts";
import { hasReconciled, limitRevision, storedAt, surroundingsOf, warnOfRestarts } from "./configuration-inputs.ts";
import type { Configuration, ConfigurationOptions, Standstill } from "./configuration-types.ts";
import { BY_FILE, FILE_WRITE_MS, type FileOutcome, openDeploymentFile } from "./deployment-file.ts";
import { readNode } from "./load-documents.ts";
import { openCredentialWarning } from "./open-credentials.ts";
import { type FileText, openDisk } from "./read-configuration-files.ts";

/** Interval between attempts at a refused configuration, in milliseconds; the same as for checks of secret files. */
const RETRY_REFUSED_MS = 10_000;

export function openConfiguration(options: ConfigurationOptions): Configuration {
  const { cluster, env, log, models: supply, sealed, signal } = options;
  const { view } = cluster;
  const listeners = new Set<() => void>();
  const started = options.documents.nodeFile;
  let { documents } = options;
  let { rules } = documents;
  let guardrails: GuardrailEngine | undefined;
  let loading: ReturnType<typeof loadGuardrails> | undefined;
  let running: CompiledSources | undefined;
  let served: ReadonlyMap<string, number> = new Map();
  let refused: CompiledSources | undefined;
  /** Stored configuration whose models are still being fetched. */
  let awaiting: CompiledSources | undefined;
  let lastLogged = "";
  let isOpenLogged = false;
  let watching: { close(): void } | undefined;
  let retry: NodeJS.Timeout | undefined;
  let turn: Promise<void> = Promise.resolve();
  let isQueued = false;
  let rebuilds = 0;
  const stored = (): readonly SourceRow[] => Array.from(view.scan("source/"), ([, value]) => readSource(value));

  const textOf = (name: string, revision: number): string | undefined => {
    const row = view.get(revisionRowKey(name, revision));
    return row === undefined ? undefined : (readRevision(row).text ?? undefined);
  };
  const secretsOfToday = (): Secrets => openSecrets({ dir: documents.secretsDir, sealed });

  const inputOf = (sources: readonly Source[], secrets: SourcesInput["secrets"], models?: Views): SourcesInput => {
    const { nodeFile, overlays: fileOverlays, variables: ofNodeFile } = documents;
    const trusted = nodeFile && trustedBy(nodeFile, started);
    const limitRev = limitRevision(view);
    const loaded = { rules, guardrails, models };
    const common = { env, ofNodeFile, secrets, fileOverlays, trusted, hasReconciled: hasReconciled(view) };
    return { sources, ...common, limitRev, storedAt: storedAt(view), ...loaded };
  };
  const compileWith = (sources: readonly Source[], secrets: SourcesInput["secrets"], models?: Views): CompiledSources =>
    compileSources(inputOf(sources, secrets, models));

  /** Loads the engines that the texts need, before any of them is compiled. */
  const prepare = async (texts: readonly string[]): Promise<void> => {
    rules ??= await loadRules(texts);
    // The counters can be created only once, and two callers may get here at the same time.
    if (guardrails === undefined && texts.some(mayHoldGuardrails)) {
      const { instruments, callModel, isSpare } = options;
      loading ??= loadGuardrails(texts, { instruments, log, callModel, ...(isSpare && { isSpare }) });
      guardrails = await loading;
    }
  };

  const compile = async (sources: readonly Source[]): Promise<CompiledSources> => {
    await prepare(sources.map(({ text }) => text));
    const secrets = secretsOfToday();
    const looked = await compileFromCache(supply, (models) => compileWith(sources, secrets, models), signal);
    return preparedSources(looked.sources, signal);
  };

  /**
   * Compiles with the models of the cache. `inputs` returns everything that another process or thread needs to compile the same.
   */
  const compileRecorded = async (sources: readonly Source[], secrets: Secrets) => {
    const seen = recorded(secrets);
    let input = inputOf(sources, seen);
    const compileSeen = (models: Views): CompiledSources => {
      input = inputOf(sources, seen, models);
      return compileSources(input);
    };
    const looked = await compileFromCache(supply, compileSeen, signal);
    return { looked, inputs: (): CrossingInputs => crossing(input, seen) };
  };

  const compileCrossing: Configuration["crossing"] = async (sources) => {
    await prepare(sources.map(({ text }) => text));
    const { looked, inputs } = await compileRecorded(sources, secretsOfToday());
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
    compile: (source) => (source.text === unusable?.text ? unusable.sources : compileWith([source], secretsOfToday())),
    async prepare(text) {
      await prepare([text]);
      const compiled = compileWith([{ name: FILE_SOURCE, text }], secretsOfToday());
      const sources = await preparedSources(compiled, signal);
      unusable = sources === compiled ? undefined : { text, sources };
    },
    isPrepared: (text) =>
      (rules !== undefined || !mayHoldRules(text)) && (guardrails !== undefined || !mayHoldGuardrails(text)),
  });

  const refusal = (): readonly Problem[] | undefined => refused?.compiled.problems;
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
    const secrets = secretsOfToday();
    const { looked, inputs } = await compileRecorded(sourcesOf(rows), secrets);
    const next = await takenElsewhere(await preparedSources(looked.sources, signal), inputs);
    if (signal.aborted) return;
    supply.want(looked.needs);
    file.forget();
    watch(secrets, next.deployment.used);
    awaiting = next.compiled.kind === "awaits" ? next : undefined;
    if (next.compiled.kind === "refused") refuse(next);
    else if (next.compiled.kind === "awaits") wait();
    else serve(next, rows, next.compiled);
  };

  /** Returns `next`, or a refusal if another process of the node cannot use it. */
  const takenElsewhere = async (next: CompiledSources, inputs: () => CrossingInputs): Promise<CompiledSources> => {
    const { elsewhere } = options;
    if (elsewhere === undefined || next.compiled.kind !== "compiled") return next;
    const problems = (await elsewhere.prepare(inputs())).map((line) => next.deployment.problem([], line));
    if (problems.length > 0) return { ...next, compiled: { kind: "refused", problems } };
    await elsewhere.take();
    return next;
  };

  const serve = (
    next: CompiledSources,
    rows: readonly SourceRow[],
    { problems, snapshot }: Extract<CompiledSources["compiled"], { kind: "compiled" }>,
  ): void => {
    refused = undefined;
    lastLogged = "";
    running = next;
    served = new Map(rows.map(({ name, revision }) => [name, revision]));
    for (const problem of problems) log.warn("configuration", { warning: formatProblem(problem) });
    const open = openCredentialWarning(snapshot);
    if (open !== undefined && !isOpenLogged) log.warn("configuration", { warning: open });
    isOpenLogged = open !== undefined;
    options.onSnapshot(snapshot);
    guardrails?.keep(snapshot.guardrails);
    log.info("configuration applied", {
      sources: rows.map(({ name, revision }) => `${name}@${revision}`),
      providers: snapshot.providers.length,
    });
    changed();
  };

  const wait = (): void => {
    refused = undefined;
    log.info("the configuration is waiting for models", { models: missingModelsText(supply.status()) });
    changed();
  };

  const refuse = (next: CompiledSources): void => {
    refused = next;
    retry = setTimeout(queueRebuild, RETRY_REFUSED_MS).unref();
    const lines = next.compiled.problems.filter(({ severity }) => severity === "error").map(formatProblem);
    if (lines.join("\n") === lastLogged) return;
    lastLogged = lines.join("\n");
    for (const problem of lines) log.error("configuration refused", { problem });
    log.error(
      running === undefined ? "nothing is served until it compiles" : "the previous configuration keeps serving",
      { problems: lines.length },
    );
    changed();
  };

  const changed = (): void => {
    for (const listener of [...listeners]) listener();
  };

  const watch = (secrets: Secrets, used: CompiledSources["deployment"]["used"]): void => {
    watching?.close();
    watching = secrets.watch({
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
    clearTimeout(retry);
    turn = turn.then(async () => {
      isQueued = false;
      try {
        await rebuild();
      } catch (error) {
        log.error("the configuration could not be compiled", { error });
      }
    });
  };

  const isOfUse = (keys: ReadonlySet<string>): boolean =>
    running?.deployment.used.secrets.some((name) => keys.has(secretRowKey(name))) === true;

  const unwatch = [
    supply.onChange(() => {
      if (awaiting === undefined) return;
      if (supply.status().every(({ state }) => state === "ready")) queueRebuild();
      else changed();
    }),
    view.watch("source/", queueRebuild),
    view.watch("secret/", (mutations) => {
      file.forget();
      if (refused !== undefined || mutations === undefined || isOfUse(new Set(mutations.map(({ key }) => key)))) {
        queueRebuild();
      }
    }),
    // This node may be able to open a key that was wrapped again.
    view.watch("ring/", () => {
      if (refused !== undefined) queueRebuild();
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
    const isOther = surroundingsOf(documents) !== surroundingsOf(next);
    const rebuiltBefore = rebuilds;
    documents = next;
    options.onNodeFile(next.nodeFile);
    file.forget();
    if (next.document !== undefined) await applyBySignal();
    await turn;
    // The document is applied before a rebuild, because the stored configuration may need an input that was just removed.
    if (isOther && rebuilds === rebuiltBefore) queueRebuild();
    await turn;
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
      file.tell(await file.apply(documents.document, "start", { by: BY_FILE, timeoutMs: FILE_WRITE_MS, signal }));
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      log.error("the deployment document on disk is not applied; what the cluster stores keeps serving", {
        reason: error.message,
      });
    }
  };

  const begin = async (): Promise<Standstill | undefined> => {
    queueRebuild();
    await turn;
    if (documents.document === undefined) return undefined;
    for (;;) {
      const secretChange = nextChange("secret/");
      const outcome = await file.carry(() => documents.document);
      if (outcome === undefined) return undefined;
      if (outcome.kind !== "kept") file.tell(outcome);
      await turn;
      const end = running === undefined ? standstill(outcome) : undefined;
      const waits = outcome.kind === "refused" && outcome.lacking.length > 0 && stored().length === 0;
      if (end !== undefined || !waits) return end;
      await secretChange;
      if (signal.aborted) return undefined;
    }
  };

  const nextChange = (prefix: string): Promise<void> =>
    new Promise((resolve) => {
      const end = (): void => {
        unwatchOnce();
        resolve();
      };
      const unwatchOnce = view.watch(prefix, end);
      signal.addEventListener("abort", end, { once: true });
    });

  /**
   * Returns the reason why only an operator can help; `undefined` while a missing secret may still be sealed, or another member
   * may still write a document.
   */
  const standstill = (outcome: FileOutcome): Standstill | undefined => {
    const isAlone = cluster.status().members.length <= 1;
    if (refused !== undefined) {
      const problems = refused.compiled.problems.map(formatProblem);
      return sealed !== undefined && refused.missing.length > 0 ? undefined : { kind: "refused", problems };
    }
    if (outcome.kind !== "refused" || !isAlone || stored().length > 0) return undefined;
    const problems = outcome.problems.map(formatProblem);
    return { kind: "refused", problems: problems.length > 0 ? problems : [outcome.message] };
  };

  const fileStatusNow = (): FileStatus =>
    file.status((refused ?? awaiting ?? running)?.compiled, running !== undefined, missingModelsText(supply.status()));

  return {
    running: () => running,
    served: () => served,
    refusal,
    stored,
    textOf,
    compile,
    crossing: compileCrossing,
    settled: () => turn,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    fileStatus: fileStatusNow,
    documentPath: () => documents.documentPath,
    readDocument,
    async applyFile(write) {
      const outcome = await file.apply(await readDocument(), "reload", write);
      await turn;
      return outcome;
    },
    reload,
    begin,
    async askSession(question, until) {
      if (guardrails === undefined) throw new Error("no detector with a model is in force");
      return guardrails.askSession(question, until);
    },
    close() {
      clearTimeout(retry);
      watching?.close();
      for (const end of unwatch) end();
      guardrails?.close();
    },
  };
}
