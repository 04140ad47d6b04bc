/** Gathers records of all nodes: this one's from its store, those of the others page by page over the forward links. */
import type { Cluster } from "../../cluster/index.ts";
import type { PackedChunk, RecordStore } from "../../core/rehearsal/index.ts";
import { decodeChunk, encodeChunk, type JsonChunk } from "../../workers/index.ts";
import type { RehearsalQuestion } from "./rehearsal-protocol.ts";

/** Size of a page as JSON, in bytes; a forward link carries twice as much. */
const PAGE_BYTES = 1 << 20;
/** Timeout for all pages of a node, in milliseconds. */
const TIMEOUT_MS = 2_000;
/** Maximum number of pages, more than a node with 64 MiB has. */
const MAX_PAGES = 256;

interface Page {
  /** Time from which there are records, in milliseconds since 1970; `undefined` if the node keeps none. */
  readonly since: number | undefined;
  readonly chunks: readonly JsonChunk[];
  /** Start of the next page; `undefined` on the last. */
  readonly next: number | undefined;
}

interface Gathered {
  readonly nodes: RehearsalQuestion["nodes"];
  readonly unanswered: readonly string[];
  readonly disabled: readonly string[];
}

/** Returns a page of this node's chunks, starting at number `from`, for another node. */
export function encodePage(store: RecordStore | undefined, from: number): Uint8Array {
  if (store === undefined) return encodeJson({ since: undefined, chunks: [], next: undefined });
  const chunks: JsonChunk[] = [];
  let bytes = 0;
  let next: number | undefined;
  for (const { number, chunk } of store.read(from)) {
    const made = encodeChunk(chunk);
    bytes += made.rows.length + made.texts.reduce((sum, text) => sum + text.length + 8, 0);
    if (chunks.length > 0 && bytes > PAGE_BYTES) {
      next = number;
      break;
    }
    chunks.push(made);
  }
  return encodeJson({ since: store.since(), chunks, next });
}

const encodeJson = (page: Page): Uint8Array => Buffer.from(JSON.stringify(page));

/** Gathers the records. `since`: time before which requests are excluded, in milliseconds since 1970. */
export async function gatherRecords(
  cluster: Pick<Cluster, "status" | "askMember">,
  store: RecordStore | undefined,
  since: number,
  signal: AbortSignal,
): Promise<Gathered> {
  const { nodeId, members } = cluster.status();
  const others = members.map(({ id }) => id).filter((id) => id !== nodeId);
  const asked = await Promise.all(others.map((id) => fetchRecordsOf(cluster, id, since, signal)));
  signal.throwIfAborted();
  const own = store && { node: nodeId, since: store.since(), chunks: store.read().map(({ chunk }) => chunk) };
  const answered = asked.flatMap((all) => (all === undefined || all.since === undefined ? [] : [all]));
  const nodes = answered.map(({ node, since: covered, chunks }) => ({ node, since: covered ?? 0, chunks }));
  return {
    nodes: own === undefined ? nodes : [own, ...nodes],
    unanswered: others.filter((_, at) => asked[at] === undefined),
    disabled: [
      ...(store === undefined ? [nodeId] : []),
      ...others.filter((_, at) => asked[at] !== undefined && asked[at].since === undefined),
    ],
  };
}

interface NodeRecords {
  readonly node: string;
  readonly since: number | undefined;
  readonly chunks: readonly PackedChunk[];
}

/** Returns all records of a node; `undefined` if it did not answer in time. */
async function fetchRecordsOf(
  cluster: Pick<Cluster, "askMember">,
  node: string,
  since: number,
  signal: AbortSignal,
): Promise<NodeRecords | undefined> {
  const endsAt = performance.now() + TIMEOUT_MS;
  const chunks: PackedChunk[] = [];
  let covered: number | undefined;
  let from = 0;
  try {
    for (let page = 0; page < MAX_PAGES; page++) {
      const question = { kind: "decisions", from, since };
      const timeoutMs = Math.ceil(endsAt - performance.now());
      const body = timeoutMs > 0 ? await cluster.askMember(node, question, { timeoutMs, signal }) : undefined;
      if (body === undefined) return undefined;
      const read = JSON.parse(Buffer.from(body).toString("utf8")) as Page;
      covered = read.since;
      for (const chunk of read.chunks) chunks.push(decodeChunk(chunk));
      if (read.next === undefined) return { node, since: covered, chunks };
      from = read.next;
    }
  } catch {
    return undefined; // timed out, or the caller has left: the signal is checked afterwards
  }
  return { node, since: covered, chunks };
}
