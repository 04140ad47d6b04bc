/** The admin plane of a node: its lists, watched once each whatever the number of listeners, and other shared parts. */

import type { FastifyRequest } from "fastify";
import { MAX_MEMBERS, TABLES, type TableName } from "../../admin-api/index.ts";
import type { Access } from "./access/types.ts";
import { type BodyReader, createBodyReader } from "./body-reader.ts";
import { encodeRows, type MemberQuery, readMemberQuery } from "./gather-nodes.ts";
import type { HandlerPorts } from "./handler-types.ts";
import { historyOf } from "./handlers/history.ts";
import { listSource } from "./handlers.ts";
import { type ListSource, type WatchedList, watchList } from "./lists.ts";
import type { Ports } from "./ports.ts";
import { openQueryEngine } from "./query/index.ts";

export interface AdminPlane {
  readonly ports: HandlerPorts;
  readonly access: Access;
  readonly lists: ReadonlyMap<string, WatchedList<unknown>>;
  readonly bodies: BodyReader;
  /** Requests in progress, including those whose callers have left: their outcome may not be recorded yet. */
  readonly inProgress: Set<Promise<void>>;
  /** Logs an internal error of a request, whose text is not in the answer. */
  onInternalError(request: FastifyRequest, error: unknown): void;
  /**
   * Answers waiting reads, so that a listener can be drained, and ends queries. Resolves once nothing is in progress:
   * interrupted requests are recorded by then. Repeated calls wait for the same end.
   */
  close(): Promise<void>;
}

export function openAdminPlane(ports: Ports, access: Access): AdminPlane {
  const sources = new Map(
    (Object.keys(TABLES) as TableName[]).map((table): [TableName, ListSource<unknown>] => [
      table,
      listSource(table, ports),
    ]),
  );
  const lists = new Map(
    Array.from(sources, ([table, source]): [string, WatchedList<unknown>] => [table, watchList<unknown>(source)]),
  );
  const query = openQueryEngine({
    sources,
    index: () => ports.cluster.view.appliedIndex,
    now: () => ports.clock.now(),
    log: ports.log,
  });
  ports.cluster.onQuestion(async (value) => {
    const question = readMemberQuery(value);
    if (question === undefined) return undefined;
    await ports.catchUp?.();
    return await answerMember(question, ports, lists);
  });
  const inProgress = new Set<Promise<void>>();
  const end = async (): Promise<void> => {
    for (const list of lists.values()) list.close();
    await query.close();
    while (inProgress.size > 0) await Promise.all(inProgress);
  };
  let closing: Promise<void> | undefined;
  return {
    ports: { ...ports, query },
    access,
    lists,
    bodies: createBodyReader(),
    inProgress,
    onInternalError({ method, url }, error) {
      ports.log.error("admin request failed", { method, path: url.split("?", 1)[0], error });
    },
    close() {
      closing ??= end();
      return closing;
    },
  };
}

const NOT_WAITING = { index: undefined, waitMs: 0, signal: new AbortController().signal } as const;

/** Answers another member with this node's measurements. */
async function answerMember(
  question: MemberQuery,
  { clock, backends, audit, rows, rehearsals }: Ports,
  lists: ReadonlyMap<string, WatchedList<unknown>>,
): Promise<Uint8Array | undefined> {
  switch (question.kind) {
    case "list": {
      const read = await lists.get(question.table)?.read(NOT_WAITING, () => clock.now());
      return read && encodeRows(read.rows);
    }
    case "failures":
      return encodeRows(backends.failures(question.provider) ?? []);
    case "members":
      return encodeRows(backends.members(question.provider) ?? [], { maxRows: MAX_MEMBERS });
    case "history":
      return encodeRows(await historyOf(rows, question.provider), { fromEnd: true });
    case "decisions":
      return rehearsals.recordPage(question.from, question.since);
    case "records":
      return encodeRows(audit.recent(question.limit, question.event), { fromEnd: true });
    default:
      return question satisfies never;
  }
}
