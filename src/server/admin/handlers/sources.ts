/** Configuration sources, their history, and the configuration composed of them. */

import type { SourceProblem, SourceRecord } from "../../../admin-api/index.ts";
import { type HandlerCall, type Handlers, NO_CONTENT } from "../handler-types.ts";
import { fixedRows, type ListSource, tablesVersion } from "../lists.ts";
import type { Ports, SourceOutcome } from "../ports.ts";
import { refusal } from "../refusal.ts";
import { DEFAULT_SINCE_MS, withPermittedExamples } from "../rehearsal-answer.ts";
import { TABLE_PREFIX } from "../state-prefixes.ts";

/** Returns the list of sources. It changes with the state, and when this node begins to serve a revision or fails to. */
export function sourceList({ cluster: { view }, sources }: Ports): ListSource<SourceRecord> {
  const stored = tablesVersion(view, TABLE_PREFIX.sources);
  let statusChanges = 0;
  return {
    version: () => stored.version() + statusChanges,
    watch(onChange) {
      const unwatch = [
        stored.watch(onChange),
        sources.onStatus(() => {
          statusChanges += 1;
          onChange();
        }),
      ];
      return () => {
        for (const end of unwatch) end();
      };
    },
    take: () => fixedRows(sources.list()),
  };
}

const noSuchSource = (name: string): Error => refusal("not_found", `There is no source named ${name}.`);

function findSource({ sources }: Ports, name: string): SourceRecord {
  const record = sources.list().find((it) => it.name === name);
  if (record === undefined) throw noSuchSource(name);
  return record;
}

/** Checks that a rehearsal is allowed. Throws `invalid` without a dry run, `forbidden` if the policy does not permit it. */
function requireRehearsalAllowed(isDryRun: boolean | undefined, may: HandlerCall<"put_source">["may"]): void {
  if (isDryRun !== true) {
    throw refusal("invalid", "The query parameter `rehearse` needs `dry_run=true`.", {
      in: "query",
      faults: [{ field: "rehearse", message: "needs `dry_run=true`" }],
    });
  }
  if (!may("rehearse"))
    throw refusal("forbidden", "The admin policy does not permit rehearse.", { action: "rehearse" });
}

/** Returns the value of a successful outcome. Throws `refused` with all problems and their positions for a refused one. */
export function valueOrRefusal<T>(outcome: SourceOutcome<T>): T {
  if (outcome.kind === "done") return outcome.value;
  const [first, ...more] = outcome.problems;
  const message = `The document is refused: ${problemText(first)}${more.length > 0 ? ` (and ${more.length} more)` : ""}`;
  // A problem may end with a question, such as `did you mean "a"?`.
  throw refusal("refused", message.endsWith("?") ? message : `${message}.`, [...outcome.problems]);
}

const problemText = (problem: SourceProblem | undefined): string =>
  problem === undefined ? "it does not compile" : `${problem.path === "" ? "" : `${problem.path}: `}${problem.message}`;

async function documentOf(ports: Ports, name: string, revision: number, signal: AbortSignal): Promise<string> {
  const document = await ports.sources.document(name, revision, signal);
  if (document === undefined) throw refusal("not_found", `Revision ${revision} of ${name} is not kept.`);
  return document;
}

export const sourceHandlers: Pick<
  Handlers,
  | "get_source"
  | "put_source"
  | "delete_source"
  | "list_source_revisions"
  | "get_source_revision"
  | "rollback_source"
  | "get_config"
  | "reload_config"
> = {
  async get_source({ params: { name }, signal }, ports) {
    const record = findSource(ports, name);
    const document = await documentOf(ports, name, record.revision, signal);
    return { value: { ...record, document }, revision: record.revision };
  },
  async put_source({ params: { name }, query, body, ifMatch, write, signal, may }, { sources, rehearsals }) {
    const change = { name, document: body, ifRevision: ifMatch };
    if (query.rehearse === true) requireRehearsalAllowed(query.dry_run, may);
    const value = valueOrRefusal(
      query.dry_run === true ? await sources.dryRun(change, signal) : await sources.put(change, write),
    );
    if (query.rehearse !== true) return { value, revision: value.revision };
    const asked = { source: name, document: body, sinceMs: DEFAULT_SINCE_MS };
    const rehearsal = withPermittedExamples(may, valueOrRefusal(await rehearsals.rehearse(asked, signal)));
    return { value: { ...value, rehearsal }, revision: value.revision };
  },
  async delete_source({ params: { name }, ifMatch, write }, { sources }) {
    if (!valueOrRefusal(await sources.delete(name, ifMatch, write))) throw noSuchSource(name);
    return NO_CONTENT;
  },
  list_source_revisions({ params: { name } }, { sources }) {
    const items = sources.revisions(name);
    if (items === undefined) throw noSuchSource(name);
    return { value: { items } };
  },
  async get_source_revision({ params: { name, revision }, signal }, ports) {
    const found = ports.sources.revisions(name)?.find((it) => it.revision === revision);
    if (found === undefined) throw refusal("not_found", `Revision ${revision} of ${name} is not kept.`);
    return { value: { ...found, document: await documentOf(ports, name, revision, signal) }, revision };
  },
  /** Writes an earlier revision as the newest. Without `If-Match`, it must replace the revision that is newest on this node. */
  async rollback_source({ params: { name }, query, body: { revision }, ifMatch, write, signal }, ports) {
    const record = findSource(ports, name);
    const ifRevision = ifMatch ?? record.revision;
    const document = await documentOf(ports, name, revision, signal);
    const { sources } = ports;
    const value = valueOrRefusal(
      query.dry_run === true
        ? await sources.dryRun({ name, document, ifRevision, isRollback: true }, signal)
        : await sources.rollback({ name, to: revision, ifRevision }, write),
    );
    return { value, revision: value.revision };
  },
  get_config(_call, { sources }) {
    return { value: sources.config() };
  },
  async reload_config({ query, write, signal }, { sources }) {
    return {
      value:
        query.dry_run === true
          ? valueOrRefusal(await sources.tryReload(signal))
          : valueOrRefusal(await sources.reload(write)),
    };
  },
};
