/** The port `Sources` of the admin plane, over the node's configuration and what the cluster stores. */
import {
  refusal,
  refusedCommand,
  type SourceOutcome,
  type SourceProblem,
  type SourceRecord,
  type Sources,
} from "../admin/index.ts";
import { type Cluster, putBlob, type WriteOptions } from "../cluster/index.ts";
import type { Problem, Source } from "../core/config/index.ts";
import {
  type Actor,
  commands,
  deployModeKey,
  type NamedCommand,
  readRevision,
  revisionsOf,
  type SourceRow,
} from "../core/state/index.ts";
import type { Configuration } from "./configuration.ts";
import { changeOf, editionOf } from "./sources.ts";

/** A text above this travels in parts. */
const MAX_INLINE_BYTES = 512 * 1024;

export function sourcesPort(cluster: Cluster, configuration: Configuration): Sources {
  const { view } = cluster;

  const refuseFileOwned = (): void => {
    if (view.get(deployModeKey) === undefined) return;
    throw refusal(
      "conflict",
      "The deployment document that `deployment` of the node file names is the single writer: edit it and reload.",
    );
  };

  const rowOf = (name: string): SourceRow | undefined => configuration.stored().find((row) => row.name === name);

  const refuseStale = (name: string, expected: number | undefined): void => {
    const revision = rowOf(name)?.revision ?? 0;
    if (expected === undefined || expected === revision) return;
    throw refusal("stale", `The source is at revision ${revision}, not ${expected}: read it again.`, { revision });
  };

  /** All sources as they stand, with `name` holding `text`; without it where that is undefined. */
  const withSource = (name: string, text: string | undefined): readonly Source[] => [
    ...configuration
      .stored()
      .filter((row) => row.name !== name)
      .map((row) => ({ name: row.name, text: configuration.textOf(row.name, row.revision) ?? "" })),
    ...(text === undefined ? [] : [{ name, text }]),
  ];

  /** What the write would change; `refused` where the whole would not compile. */
  const judge = (name: string, text: string | undefined) => {
    const next = configuration.compile(withSource(name, text));
    const change = changeOf(configuration.running(), next);
    const version = next.deployment.versions.get(name);
    return { change, version };
  };

  const write = async (command: NamedCommand, options: WriteOptions): Promise<number> => {
    const result = await cluster.write(command, options);
    if (result.kind === "refused") throw refusedCommand(result);
    await configuration.settled();
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
    differences: change.differences.map(({ path, kind }) => ({ path, kind })),
    warnings: change.warnings.map(problemOf),
  });

  const refused = (problems: readonly Problem[]): SourceOutcome<never> => ({
    kind: "refused",
    problems: problems.filter(({ severity }) => severity === "error").map(problemOf),
  });

  return {
    list: () => configuration.stored().map((row) => recordOf(row, configuration)),
    onStanding: (listener) => configuration.onChange(listener),
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
        .map(({ revision, at, by, bytes }) => ({ revision, updated_at: timeOf(at), by: principalOf(by), bytes }));
    },
    async put({ name, document, ifRevision }, options) {
      refuseFileOwned();
      refuseStale(name, ifRevision);
      const { change, version } = judge(name, document);
      if (change.kind === "refused") return refused(change.problems);
      const { digest } = editionOf(document, undefined);
      const before = rowOf(name);
      const bytes = Buffer.from(document, "utf8");
      const content =
        bytes.length > MAX_INLINE_BYTES ? { blob: await putBlob(cluster, bytes, options) } : { text: document };
      const revision = await write(
        commands.sourcePut({
          name,
          ...content,
          sha256: digest,
          version: version ?? null,
          writer: "api",
          expect_revision: ifRevision ?? null,
          trigger: "api",
        }),
        options,
      );
      return { kind: "done", value: changeAnswer(name, revision, before?.sha256 !== digest, change) };
    },
    async rollback({ name, to, ifRevision }, options) {
      refuseFileOwned();
      refuseStale(name, ifRevision);
      const text = configuration.textOf(name, to);
      if (text === undefined) throw refusal("not_found", `Revision ${to} of ${name} is not kept.`);
      const { change } = judge(name, text);
      if (change.kind === "refused") return refused(change.problems);
      const changed = rowOf(name)?.sha256 !== editionOf(text, undefined).digest;
      const revision = await write(commands.sourceRollback({ name, to, expect_revision: ifRevision ?? null }), options);
      return { kind: "done", value: changeAnswer(name, revision, changed, change) };
    },
    async dryRun({ name, document, ifRevision }) {
      refuseFileOwned();
      refuseStale(name, ifRevision);
      const { change } = judge(name, document);
      if (change.kind === "refused") return refused(change.problems);
      const before = rowOf(name);
      const changed = before?.sha256 !== editionOf(document, undefined).digest;
      return { kind: "done", value: changeAnswer(name, before?.revision ?? 0, changed, change) };
    },
    async delete(name, ifRevision, options) {
      refuseFileOwned();
      if (rowOf(name) === undefined) return { kind: "done", value: false };
      refuseStale(name, ifRevision);
      const { change } = judge(name, undefined);
      if (change.kind === "refused") return refused(change.problems);
      await write(commands.sourceDelete({ name, writer: "api", expect_revision: ifRevision ?? null }), options);
      return { kind: "done", value: true };
    },
    config() {
      const served = [...configuration.served()];
      return {
        source: configuration.documentPath() ?? "api",
        sources: served.map(([name, revision]) => ({ name, revision })),
        file_status: configuration.fileStatus(),
      };
    },
    async reload(options) {
      const outcome = await configuration.applyFile("reload", options);
      if (outcome.kind === "refused") {
        const problems = refused(outcome.problems);
        const whole = { source: "default", path: "", line: 0, column: 0, message: outcome.message };
        return problems.kind === "refused" && problems.problems.length > 0
          ? problems
          : { kind: "refused", problems: [whole] };
      }
      const file_status = configuration.fileStatus();
      return { kind: "done", value: { applied: outcome.kind === "applied", revision: outcome.revision, file_status } };
    },
  };
}

function recordOf(row: SourceRow, configuration: Configuration): SourceRecord {
  const { name, revision, writer, at, by } = row;
  const facts = { name, revision, writer, updated_at: timeOf(at), by: principalOf(by) };
  if (configuration.served().get(name) === revision) return { ...facts, state: "running", message: null };
  const problem = configuration.refusal()?.find(({ severity }) => severity === "error");
  return problem === undefined
    ? { ...facts, state: "pending", message: "this node is compiling it" }
    : { ...facts, state: "refused", message: `${problem.path === "" ? "" : `${problem.path}: `}${problem.message}` };
}

function problemOf({ file, path, line, column, message }: Problem): SourceProblem {
  return { source: file, path, line, column, message };
}

function principalOf({ sub }: Actor): string {
  return sub;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
