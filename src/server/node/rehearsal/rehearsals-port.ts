/** Port `Rehearsals` of the admin plane, over the node's configuration, its records and those of the other nodes. */
import { createSemaphore, systemClock } from "../../../base/index.ts";
import {
  type GovernanceLists,
  type RehearsalInput,
  type RehearsalResult,
  type Rehearsals,
  refusal,
  type SourceOutcome,
} from "../../admin/index.ts";
import type { Cluster } from "../../cluster/index.ts";
import { bucketName } from "../../core/budgets/index.ts";
import type { Source } from "../../core/config/index.ts";
import {
  createRecordStore,
  DEFAULT_RECORD_BYTES,
  type RecordedCaller,
  type RecordStore,
} from "../../core/rehearsal/index.ts";
import { keyIdRowKey, keyRowKey, readKey, readKeyName } from "../../core/state/index.ts";
import type { CurrentBucket, CurrentKey } from "../../rehearsal/index.ts";
import type { Configuration } from "../configuration/configuration-types.ts";
import { encodePage, gatherRecords } from "./gather-records.ts";
import { judgeInThread } from "./judge-in-thread.ts";
import type { RehearsalQuestion } from "./rehearsal-protocol.ts";

interface RehearsalOptions {
  readonly configuration: Configuration;
  readonly cluster: Pick<Cluster, "status" | "askMember" | "view">;
  /** Records of this node; `undefined` if it keeps none. */
  readonly store: RecordStore | undefined;
  readonly governance: Pick<GovernanceLists, "budgets">;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns the current time, in milliseconds since 1970. */
  readonly now: () => number;
}

/** Opens the records of this node. `bytes` is 0 for none, `undefined` for the default. */
export const openRecordStore = (bytes = DEFAULT_RECORD_BYTES): RecordStore | undefined =>
  bytes === 0 ? undefined : createRecordStore(bytes, systemClock.now());

/** Maximum number of rehearsals that wait while one runs. */
const MAX_WAITING = 3;
/** Time limit for judging in the thread, in milliseconds. */
const JUDGE_TIMEOUT_MS = 4_500;
/** Maximum number of buckets that are passed on; windows of further buckets are judged from records alone. */
const MAX_BUCKETS = 50_000;

export function rehearsalsPort(options: RehearsalOptions): Rehearsals {
  const { configuration, cluster, store, governance, env, now } = options;
  const mutex = createSemaphore({
    permits: 1,
    maxWaiting: MAX_WAITING,
    refusal: () => refusal("busy", `${MAX_WAITING} rehearsals are waiting already.`),
  });

  /** Returns the sources in force with `document` as the content of `source`. */
  const proposedSources = (source: string, document: string | undefined): readonly Source[] => {
    const inForce = servedSources(configuration);
    if (document === undefined) return inForce;
    const isFile = configuration.documentPath() !== undefined;
    return [...inForce.filter(({ name }) => name !== source), { name: source, text: document, isFromApi: !isFile }];
  };

  /** Rehearses a document. `since`: in milliseconds since 1970. */
  const rehearse = async (
    { source, document }: RehearsalInput,
    since: number,
    signal: AbortSignal,
  ): Promise<SourceOutcome<RehearsalResult>> => {
    const running = servedSources(configuration);
    if (running.length === 0) throw refusal("conflict", "No configuration is in force: there is nothing to rehearse.");
    const next = await configuration.compileForTransfer(proposedSources(source, document));
    if (next.compiled.kind === "refused") {
      const problems = next.compiled.problems.filter(({ severity }) => severity === "error");
      return {
        kind: "refused",
        problems: problems.map(({ file, path, line, column, message }) => ({
          source: file,
          path,
          line,
          column,
          message,
        })),
      };
    }
    const current = document === undefined ? next : await configuration.compileForTransfer(running);
    const gathered = await gatherRecords(cluster, store, since, signal);
    const question: RehearsalQuestion = {
      env,
      inForce: current.inputs,
      proposed: next.inputs,
      nodes: gathered.nodes,
      keys: keysOf(gathered.nodes, cluster.view),
      buckets: await bucketsOf(governance, configuration),
      now: now(),
      since,
      timeoutMs: JUDGE_TIMEOUT_MS,
    };
    const { left, ...counted } = await judgeInThread(question, signal);
    const covered = Math.max(since, ...gathered.nodes.map((it) => it.since));
    const value: RehearsalResult = {
      ...counted,
      since: new Date(since).toISOString(),
      covered_since: new Date(covered).toISOString(),
      left,
      nodes: gathered.nodes.map(({ node }) => node),
      unanswered: gathered.unanswered,
      disabled: gathered.disabled,
      configuration_changed: document !== undefined,
    };
    return { kind: "done", value };
  };

  return {
    recordPage: (from) => encodePage(store, from),
    async rehearse(asked, signal): Promise<SourceOutcome<RehearsalResult>> {
      const since = now() - asked.sinceMs;
      return await mutex.run(() => rehearse(asked, since, signal), { signal });
    },
  };
}

const servedSources = (configuration: Configuration): readonly Source[] =>
  Array.from(configuration.servedRevisions(), ([name, revision]) => ({
    name,
    text: configuration.textOf(name, revision) ?? "",
    isFromApi: configuration.stored().find((row) => row.name === name)?.writer === "api",
  }));

/** Returns the current keys of the callers in the records. */
function keysOf(nodes: RehearsalQuestion["nodes"], view: RehearsalOptions["cluster"]["view"]) {
  const ids = new Set<string>();
  for (const { chunks } of nodes) {
    for (const { texts } of chunks) {
      for (const text of texts) {
        const id = text.startsWith(CALLER_START) ? (JSON.parse(text) as RecordedCaller).key?.id : undefined;
        if (id !== undefined) ids.add(id);
      }
    }
  }
  return [...ids].flatMap((id): (readonly [string, CurrentKey])[] => {
    const named = view.get(keyIdRowKey(id));
    const row = named === undefined ? undefined : view.get(keyRowKey(readKeyName(named)));
    if (row === undefined) return [];
    const { name, profile, metadata } = readKey(row);
    return [[id, { name, profile: profile ?? null, metadata }]];
  });
}

/** Beginning of the text of a caller with a key. */
const CALLER_START = '{"kind":"key"';

async function bucketsOf(
  { budgets }: RehearsalOptions["governance"],
  configuration: Configuration,
): Promise<readonly CurrentBucket[]> {
  const compiled = configuration.running()?.compiled;
  const rules = compiled?.kind === "compiled" ? compiled.snapshot.governance.budgets : [];
  const buckets: CurrentBucket[] = [];
  for (const { budget, bucket, used, resets_at: resetsAt } of await budgets()) {
    const rule = rules.find(({ name }) => name === budget);
    if (rule === undefined || buckets.length >= MAX_BUCKETS) continue;
    const { isShared, windowMs } = rule;
    buckets.push({
      bucket: bucketName(budget, isShared, bucket),
      windowMs,
      windowStart: Date.parse(resetsAt) - windowMs,
      used,
    });
  }
  return buckets;
}
