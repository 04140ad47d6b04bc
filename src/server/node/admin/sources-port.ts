/** Port `Sources` of the admin plane, over the node's configuration and the cluster's state. */
import { createSemaphore } from "../../../base/index.ts";
import {
  actorText,
  refusal,
  refusedCommand,
  type SourceOutcome,
  type SourceProblem,
  type SourceRecord,
  type Sources,
} from "../../admin/index.ts";
import type { Cluster, WriteOptions } from "../../cluster/index.ts";
import { formatProblem, type Problem, type Source } from "../../core/config/index.ts";
import {
  commands,
  deployModeKey,
  FILE_SOURCE,
  type NamedCommand,
  readRevision,
  revisionsOf,
  type SourceRow,
} from "../../core/state/index.ts";
import { changeOf, editionOf } from "../configuration/compile-sources.ts";
import type { Configuration } from "../configuration/configuration-types.ts";
import { VERSION_REFUSAL_CODES } from "../configuration/deployment-file.ts";
import { contentOf } from "../configuration/source-content.ts";

/** Maximum wait of a dry run for its turn, in milliseconds. */
const DRY_RUN_WAIT_MS = 15_000;

export function sourcesPort(cluster: Cluster, configuration: Configuration): Sources {
  const { view } = cluster;

  /** Returns whether a file is the only writer, also while it waits to become the first source. */
  const isFileOwned = (): boolean => {
    const waits = configuration.documentPath() !== undefined && configuration.stored().length === 0;
    return view.get(deployModeKey) !== undefined || waits;
  };

  const refuseFileOwned = (): void => {
    if (!isFileOwned()) return;
    throw refusal(
      "conflict",
      "The configuration comes from the deployment document that `deployment` of the node file names: edit that file and reload it.",
    );
  };

  const rowOf = (name: string): SourceRow | undefined => configuration.stored().find((row) => row.name === name);

  const staleRefusal = (name: string, expected: number | undefined): Error => {
    const revision = rowOf(name)?.revision ?? 0;
    return refusal("stale", `The source is at revision ${revision}, not ${expected}: read it again.`, { revision });
  };

  /** Refuses an outdated revision, before the compile. A repeated request may name a revision that it has itself replaced. */
  const refuseStale = (name: string, expected: number | undefined, options?: WriteOptions): void => {
    const revision = rowOf(name)?.revision ?? 0;
    if (expected === undefined || expected === revision || options?.idempotency !== undefined) return;
    throw staleRefusal(name, expected);
  };

  /** Runs writes one after the other, so that each is compiled with the result of those before it. */
  const writes = createSemaphore({
    permits: 1,
    refusal: () => refusal("busy", "Other sources are being written; try again."),
  });
  /** Runs `work` after earlier writes. A caller that waits longer than its timeout is asked to try again. */
  const inSequence = <T>(
    { timeoutMs: waitMs, signal }: Pick<WriteOptions, "timeoutMs" | "signal">,
    work: () => Promise<T>,
  ): Promise<T> => writes.run(work, { waitMs, signal });

  /** Returns all current sources with `text` as the content of `name`; without `name` if `text` is `undefined`. */
  const withSource = (name: string, text: string | undefined): readonly Source[] => [
    ...configuration
      .stored()
      .filter((row) => row.name !== name)
      .map((row) => ({
        name: row.name,
        text: configuration.textOf(row.name, row.revision) ?? "",
        isFromApi: row.writer === "api",
      })),
    ...(text === undefined ? [] : [{ name, text, isFromApi: !isFileOwned() }]),
  ];

  /** Returns what the write would change; `refused` if the result would not compile. */
  const compileChange = async (name: string, text: string | undefined) => {
    const next = await configuration.compile(withSource(name, text));
    const change = changeOf(configuration.running(), next);
    const version = next.deployment.versions.get(name);
    return { change, version };
  };

  const write = async (
    { name, ifRevision }: { readonly name: string; readonly ifRevision: number | undefined },
    command: NamedCommand,
    options: WriteOptions,
  ): Promise<number> => {
    const result = await cluster.write(command, options);
    if (result.kind === "refused") {
      throw result.code === "stale" ? staleRefusal(name, ifRevision) : refusedCommand(result);
    }
    await configuration.whenRebuilt();
    return (result.value as { readonly revision: number }).revision;
  };

  const changeAnswer = (
    name: string,
    revision: number,
    changed: boolean,
    change: Extract<ReturnType<typeof changeOf>, { kind: "compiles" }>,
  ) => ({
    name,
    revision,
    changed,
    differences: change.differences.map(({ path, kind, fields }) => ({ path, kind, ...(fields && { fields }) })),
    warnings: change.warnings.map(problemOf),
  });

  const refusedOutcome = (problems: readonly Problem[]): SourceOutcome<never> => ({
    kind: "refused",
    problems: problems.filter(({ severity }) => severity === "error").map(problemOf),
  });

  const unreadableOutcome = (message: string): SourceOutcome<never> => ({
    kind: "refused",
    problems: [{ source: FILE_SOURCE, path: "", line: 0, column: 0, message }],
  });

  return {
    list: () => configuration.stored().map((row) => recordOf(row, configuration)),
    onStatus: (listener) => configuration.onChange(listener),
    async document(name, revision) {
      const wanted = revision ?? rowOf(name)?.revision;
      return wanted === undefined ? undefined : configuration.textOf(name, wanted);
    },
    revisions(name) {
      if (rowOf(name) === undefined) return undefined;
      const kept = Array.from(view.scan(revisionsOf(name)), ([, value]) => readRevision(value));
      return kept
        .filter(({ text }) => text !== null)
        .reverse()
        .map(({ revision, at, by, bytes }) => ({ revision, updated_at: timeOf(at), by: actorText(by), bytes }));
    },
    put: ({ name, document, ifRevision }, options) =>
      inSequence(options, async () => {
        refuseFileOwned();
        refuseStale(name, ifRevision, options);
        const { change, version } = await compileChange(name, document);
        if (change.kind === "refused") return refusedOutcome(change.problems);
        const { digest } = editionOf(document, undefined);
        const before = rowOf(name);
        const revision = await write(
          { name, ifRevision },
          commands.sourcePut({
            name,
            ...(await contentOf(cluster, document, options)),
            sha256: digest,
            version: version ?? null,
            writer: "api",
            expect_revision: ifRevision ?? null,
            trigger: "api",
          }),
          options,
        );
        return { kind: "done", value: changeAnswer(name, revision, before?.sha256 !== digest, change) };
      }),
    rollback: ({ name, to, ifRevision }, options) =>
      inSequence(options, async () => {
        refuseFileOwned();
        refuseStale(name, ifRevision, options);
        const text = configuration.textOf(name, to);
        if (text === undefined) throw refusal("not_found", `Revision ${to} of ${name} is not kept.`);
        const { change } = await compileChange(name, text);
        if (change.kind === "refused") return refusedOutcome(change.problems);
        const changed = rowOf(name)?.sha256 !== editionOf(text, undefined).digest;
        const revision = await write(
          { name, ifRevision },
          commands.sourceRollback({ name, to, expect_revision: ifRevision ?? null }),
          options,
        );
        return { kind: "done", value: changeAnswer(name, revision, changed, change) };
      }),
    // Dry runs queue with the writes: a compile blocks the thread, so only one runs at a time.
    dryRun: ({ name, document, ifRevision, isRollback = false }, signal) =>
      inSequence({ timeoutMs: DRY_RUN_WAIT_MS, signal }, async () => {
        // An edited copy of the file may be tried before it replaces the file.
        if (isRollback || name !== FILE_SOURCE) refuseFileOwned();
        refuseStale(name, ifRevision);
        const { change } = await compileChange(name, document);
        if (change.kind === "refused") return refusedOutcome(change.problems);
        const before = rowOf(name);
        const changed = before?.sha256 !== editionOf(document, undefined).digest;
        return { kind: "done", value: changeAnswer(name, before?.revision ?? 0, changed, change) };
      }),
    delete: (name, ifRevision, options) =>
      inSequence(options, async () => {
        refuseFileOwned();
        if (rowOf(name) === undefined) return { kind: "done", value: false };
        refuseStale(name, ifRevision, options);
        const { change } = await compileChange(name, undefined);
        if (change.kind === "refused") return refusedOutcome(change.problems);
        await write(
          { name, ifRevision },
          commands.sourceDelete({ name, writer: "api", expect_revision: ifRevision ?? null }),
          options,
        );
        return { kind: "done", value: true };
      }),
    config() {
      const served = [...configuration.servedRevisions()];
      return {
        source: configuration.documentPath() ?? "api",
        sources: served.map(([name, revision]) => ({ name, revision })),
        file_status: configuration.fileStatus(),
      };
    },
    tryReload: (signal) =>
      inSequence({ timeoutMs: DRY_RUN_WAIT_MS, signal }, async () => {
        const file = await configuration.readDocument();
        if (file === undefined)
          throw refusal("conflict", "The node file names no `deployment`, so there is nothing to reload.");
        if (file.kind === "problem") return unreadableOutcome(file.message);
        const row = rowOf(FILE_SOURCE);
        const isByApi = configuration.stored().some(({ writer }) => writer === "api");
        if (isByApi)
          throw refusal("conflict", "The configuration comes from sources that were written through the admin API.");
        const next = await configuration.compile([{ name: FILE_SOURCE, text: file.text }]);
        const change = changeOf(configuration.running(), next);
        if (change.kind === "refused") return refusedOutcome(change.problems);
        const revision = row?.revision ?? null;
        const { differences, warnings } = changeAnswer(FILE_SOURCE, revision ?? 0, true, change);
        const file_status = configuration.fileStatus();
        return { kind: "done", value: { applied: false, revision, file_status, differences, warnings } };
      }),
    async reload(options) {
      const outcome = await configuration.applyFile(options);
      if (outcome.kind === "refused") {
        const { code, message, problems } = outcome;
        if (code !== undefined && !VERSION_REFUSAL_CODES.has(code)) throw refusedCommand({ code, message });
        if (problems.length > 0) return refusedOutcome(problems);
        return unreadableOutcome(message);
      }
      const file_status = configuration.fileStatus();
      return { kind: "done", value: { applied: outcome.kind === "applied", revision: outcome.revision, file_status } };
    },
  };
}

function recordOf(row: SourceRow, configuration: Configuration): SourceRecord {
  const { name, revision, writer, at, by } = row;
  const facts = { name, revision, writer, updated_at: timeOf(at), by: actorText(by) };
  if (configuration.servedRevisions().get(name) === revision) return { ...facts, state: "running", message: null };
  const errors = configuration.refusal()?.filter(({ severity }) => severity === "error") ?? [];
  const problem = errors.find(({ file }) => file === name) ?? errors[0];
  return problem === undefined
    ? { ...facts, state: "pending", message: "this node is compiling it" }
    : { ...facts, state: "refused", message: formatProblem(problem) };
}

function problemOf({ file, path, line, column, message }: Problem): SourceProblem {
  return { source: file, path, line, column, message };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
