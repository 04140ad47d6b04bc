/**
 * Replaces the state of the cluster by the state of an archive. Source: specification document 1 (snapshot restore); design
 * decisions, section 20 (restoring into a cluster of another secret).
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { getHeapStatistics } from "node:v8";
import { LARGE_ARCHIVE_LEVEL, maxPartsAt, type SealedRow, sealedRow } from "../../core/state/index.ts";
import { ClusterError } from "../cluster-error.ts";
import { restoreFileName } from "../storage/index.ts";
import type { Cluster } from "../types.ts";
import { readArchive } from "./archive.ts";
import { BLOB_PART_BYTES, partsOf, writeParts } from "./put-blob.ts";

const OTHER_SECRET_MESSAGE =
  "the archive is refused, and nothing was changed: its secrets were sealed under another cluster secret or kek_file. " +
  "Restore it where they are set, or run 'gateway snapshot restore -without-secrets', which leaves out the sealed secrets " +
  "and lists their names";

/** Explanation of missing parts: every restore removes the uploads that are not used yet. */
const OVERTAKEN_MESSAGE =
  "another restore replaced the state while this archive was being uploaded, and nothing of this archive was restored. " +
  "Restore it again if it is the state that you want";

/** Time limit of replacing the rows on this node and the leader, in milliseconds. 1,000,000 keys take about half a minute. */
const REPLACE_LIMIT_MS = 600_000;

interface RestorePorts {
  /** Returns the data directory. Throws if the node keeps its state in memory. */
  dataDir(): string;
  readonly write: Cluster["write"];
  /** Returns the feature level at which the cluster works. */
  featureLevel(): number;
  /** Returns whether this node can open a data key of the keyring row. */
  readonly canOpenRing: ((row: string) => boolean) | undefined;
}

export function createRestore({ dataDir, write, featureLevel, canOpenRing }: RestorePorts): Cluster["restore"] {
  return async (archive, { withoutSecrets = false, ...options }) => {
    const path = join(dataDir(), restoreFileName());
    const sealed = collectSealed();
    try {
      const { meta, state } = await readArchive(
        archive,
        path,
        sealed.visit,
        options.signal ?? new AbortController().signal,
        withoutSecrets ? sealed.has : undefined,
      );
      const malformed = sealed.malformed();
      if (malformed !== undefined) {
        throw refuse(`its row \`${malformed}\` is malformed`);
      }
      if (!withoutSecrets && canOpenRing !== undefined && sealed.isLocked(canOpenRing)) {
        throw new ClusterError("refused", OTHER_SECRET_MESSAGE);
      }
      const { sha256, size, rows, digest } = state;
      assertRestorable(state, featureLevel(), getHeapStatistics().heap_size_limit);
      const parts = await writeParts(path, sha256, write, options);
      const command = { t: "state.restore", p: { sha256, parts, rows, digest } };
      const result = await write(command, { ...options, timeoutMs: REPLACE_LIMIT_MS });
      if (result.kind === "refused") {
        throw new ClusterError("refused", result.code === "blob_incomplete" ? OVERTAKEN_MESSAGE : result.message);
      }
      const { index, term } = meta;
      return { index, term, size, ...(withoutSecrets && { leftOut: sealed.names() }) };
    } finally {
      await rm(path, { force: true });
    }
  };
}

/**
 * Heap that each copy of the rows takes while they are replaced, in bytes. Measured with 1,000,000 virtual keys: 2.6 GB for two
 * copies of 2,000,000 rows with 284 MB.
 */
const HEAP_BYTES_PER_ROW = 500;
const HEAP_BYTES_PER_STATE_BYTE = 2;

const inMiB = (bytes: number): number => Math.ceil(bytes / 2 ** 20);

/**
 * Throws if the state cannot be restored at this feature level, or does not fit into a heap of `heapBytes`. A node that runs out
 * of memory while it applies the restore would do so again at each start.
 */
export function assertRestorable(
  { size, rows }: { readonly size: number; readonly rows: number },
  level: number,
  heapBytes: number,
): void {
  const max = maxPartsAt(level);
  if (partsOf(size) > max) {
    const remedy =
      level < LARGE_ARCHIVE_LEVEL
        ? `. At feature level ${LARGE_ARCHIVE_LEVEL} it may be larger: upgrade all nodes first`
        : "";
    throw refuse(
      `it has ${inMiB(size)} MiB of state, and a cluster of feature level ${level} restores at most ` +
        `${inMiB(max * BLOB_PART_BYTES)} MiB${remedy}`,
    );
  }
  const needed = HEAP_BYTES_PER_STATE_BYTE * size + HEAP_BYTES_PER_ROW * rows;
  if (needed > heapBytes) {
    throw refuse(
      `its ${rows} rows need about ${inMiB(needed)} MiB of heap, and this node has ${inMiB(heapBytes)}. Start every node ` +
        `with NODE_OPTIONS=--max-old-space-size=${inMiB(needed)} or more, on a machine with twice that memory`,
    );
  }
}

const refuse = (reason: string): ClusterError =>
  new ClusterError("refused", `the archive is refused, and nothing was changed: ${reason}`);

/** Collects the sealed values of an archive while it is read. */
function collectSealed() {
  const keys = new Set<string>();
  let malformed: string | undefined;
  const dataKeys = new Map<string, string>();
  const values: Exclude<SealedRow, { kind: "ring" }>[] = [];
  const namesOf = (kind: SealedRow["kind"]) => values.filter((it) => it.kind === kind).map(({ name }) => name);
  return {
    visit(key: string, value: string): void {
      let row: SealedRow | undefined;
      try {
        row = sealedRow(key, value);
      } catch {
        malformed ??= key;
      }
      if (row === undefined) return;
      keys.add(key);
      if (row.kind === "ring") dataKeys.set(row.name, value);
      else values.push(row);
    },
    has: (key: string): boolean => keys.has(key),
    /** Returns the key of a sealed row that cannot be read, if there is one. */
    malformed: (): string | undefined => malformed,
    /** Returns whether a data key that seals something cannot be opened, or no data key at all can. */
    isLocked(canOpen: (row: string) => boolean): boolean {
      const used = new Set(values.map(({ dataKey }) => dataKey));
      const locked = [...dataKeys].filter(([, row]) => !canOpen(row)).map(([id]) => id);
      return locked.some((id) => used.has(id)) || (locked.length > 0 && locked.length === dataKeys.size);
    },
    names: () => ({ secrets: namesOf("secret").sort(), certificates: namesOf("cert").sort() }),
  };
}
