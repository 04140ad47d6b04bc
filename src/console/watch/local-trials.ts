/** Reads that this machine computes from a stored document, repeated when the list of sources changes. */

import { type AdminClient, AdminError, type OperationAnswer } from "../../admin-api/index.ts";
import { pause } from "../../base/index.ts";
import type { Need, ReadableId } from "../model/data.ts";
import { type OwnedDocument, packNamesOf, thresholdOf } from "../model/documents.ts";
import type { ConsolePorts, JobOptions } from "../model/ports.ts";
import type { Session } from "./endpoint-session.ts";
import type { ReadIntervals } from "./intervals.ts";
import type { Notifier } from "./pause.ts";
import type { Entry } from "./readings.ts";

const TIME_LIMIT_MS = 30_000;

type Ports = ConsolePorts["documents"];
type Look = (document: OwnedDocument, of: string, ports: Ports, options: JobOptions) => Promise<unknown>;

interface Rule {
  /** Splits the need's name into the source and the other argument. A source of `undefined` means the first one. */
  split(name: string | undefined): readonly [source: string | undefined, of: string];
  readonly look: Look;
}

const splitWords = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== "");
/** Returns whether a word is a path, as the command line decides: it contains a separator or begins with a dot. */
const isPath = (word: string): boolean => /^\.|[/\\]/.test(word);

/** Parses a subject such as `default ./packs/ours`; either part may be missing. */
function subjectOf(subject: string | undefined): readonly [source: string | undefined, paths: readonly string[]] {
  const all = splitWords(subject ?? "");
  return [all.find((word) => !isPath(word)), all.filter(isPath)];
}

function pairOf(name = '[null,""]'): readonly [string | undefined, string] {
  const [source, of]: readonly [string | null, string] = JSON.parse(name);
  return [source ?? undefined, of];
}

const LOCAL = {
  packs: {
    split: (name) => [subjectOf(name)[0], name ?? ""],
    look: async ({ source, file, revision, ...rest }, name, ports, { signal }) => ({
      source,
      file,
      revision,
      packs: await ports.packs({ source, file, revision, ...rest }, subjectOf(name)[1], signal),
    }),
  },
  pack_trial: {
    split: pairOf,
    look: (document, of, ports, options) => ports.tryPack(document, packNamesOf(of), options),
  },
  threshold_trial: {
    split: pairOf,
    look: (document, of, ports, { signal }) => ports.tryThreshold(document, thresholdOf(of), signal),
  },
} as const satisfies Partial<Record<ReadableId, Rule>>;

type LocalId = keyof typeof LOCAL;

export const isLocal = (need: Need): need is Need<LocalId> => Object.hasOwn(LOCAL, need.id);

interface LocalOptions {
  readonly entry: Entry;
  readonly need: Need<LocalId>;
  readonly session: Session;
  readonly ports: Ports;
  readonly intervals: ReadIntervals;
  readonly signal: AbortSignal;
  readonly notifier: Notifier;
  now(): number;
}

export async function watchLocal({
  entry,
  need,
  session,
  ports,
  intervals,
  signal,
  notifier,
  now,
}: LocalOptions): Promise<void> {
  const rule: Rule = LOCAL[need.id];
  const [source, of] = rule.split(need.name);
  let seen: (OwnedDocument & { readonly stamp: string }) | undefined;
  // Waits first, so that no work starts for a row that the cursor only passes over.
  await pause(intervals.followMs, signal);
  while (!signal.aborted) {
    try {
      const document = await documentOf(session.peer.client, source, signal);
      session.markAnswered();
      // A change of that file can change whether the document can be written from here.
      const stamp = document.file === undefined ? "" : await ports.stampOf(document.file);
      if (seen?.text !== document.text || seen.revision !== document.revision || seen.stamp !== stamp) {
        const onProgress = (splitWords: string): void => void (signal.aborted || entry.progress(splitWords));
        const value = await rule.look(document, of, ports, { signal, onProgress });
        if (signal.aborted) return;
        seen = { ...document, stamp };
        entry.succeed(value);
      } else entry.succeed(entry.value());
    } catch (error) {
      if (signal.aborted) return;
      const { status = 0, code = "failed" } = error instanceof AdminError ? error : {};
      entry.fail({ status, code, message: error instanceof Error ? error.message : String(error), at: now() });
      if (entry.isForbidden) return;
      if (error instanceof AdminError && status === 0) await session.checkEndpoint();
    }
    await pause(intervals.followMs, signal);
    await notifier.wait(intervals.rarePollMs, signal);
  }
}

/** Reads every stored document. */
export async function documentsOf(client: AdminClient, signal: AbortSignal): Promise<readonly OwnedDocument[]> {
  const { items, file } = await sourcesOf(client, signal);
  return await Promise.all(items.map((item) => storedIn(client, item, file, signal)));
}

type Sources = OperationAnswer<"list_sources">["items"];

/**
 * Lists the sources. `file`: path of the deployment document that the node reads; `undefined` if sources are written
 * through the admin API.
 */
async function sourcesOf(
  client: AdminClient,
  signal: AbortSignal,
): Promise<{ readonly items: Sources; readonly file: string | undefined }> {
  const limits = { signal, timeLimitMs: TIME_LIMIT_MS };
  const [{ items }, config] = await Promise.all([
    client.call("list_sources", {}, limits),
    client.call("get_config", {}, limits),
  ]);
  return { items, file: config.source === "api" ? undefined : config.source };
}

async function storedIn(
  client: AdminClient,
  { name, writer }: Sources[number],
  path: string | undefined,
  signal: AbortSignal,
): Promise<OwnedDocument> {
  const limits = { signal, timeLimitMs: TIME_LIMIT_MS };
  const { document, revision } = await client.call("get_source", { params: { name } }, limits);
  const file = writer === "file" ? (path ?? "the file of another node") : undefined;
  return { source: name, revision, file, text: document };
}

/** Reads the named source, otherwise `default`, otherwise the first by name; a missing one is empty. */
async function documentOf(
  client: AdminClient,
  wanted: string | undefined,
  signal: AbortSignal,
): Promise<OwnedDocument> {
  const { items, file } = await sourcesOf(client, signal);
  const source = wanted ?? items.find(({ name }) => name === "default")?.name ?? items[0]?.name ?? "default";
  const found = items.find(({ name }) => name === source);
  return found === undefined ? { source, revision: 0, file, text: "" } : await storedIn(client, found, file, signal);
}
