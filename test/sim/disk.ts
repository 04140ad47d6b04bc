/**
 * The disk of one node: the log, the hard state and the snapshots, with the semantics of the storage that a node has in
 * production. Writes come one at a time and are whole or absent after a crash. What a write that was not synced has
 * left is seen by the process at once and may be gone after a loss of power; a later synced write makes it durable.
 */

import type { LogWrite } from "../../src/server/cluster/storage/types.ts";
import type { Configuration, HardState, LogReader, SnapshotMeta } from "../../src/server/core/raft/index.ts";
import type { Ledger, Link } from "./ledger.ts";
import type { Machine } from "./machine.ts";
import type { Random } from "./random.ts";
import { must } from "./violation.ts";

/** A snapshot file: the state at `link`, with the storage identities that the members had. */
export interface SnapshotFile {
  readonly meta: SnapshotMeta;
  readonly link: Link;
  readonly machine: Machine;
  readonly storages: ReadonlyMap<string, number>;
}

export type DiskJob =
  | { readonly kind: "write"; readonly write: LogWrite }
  | { readonly kind: "install"; readonly file: SnapshotFile; readonly hardState: HardState }
  /** Records a snapshot of this node's own and drops the log up to `compactTo`. */
  | { readonly kind: "record"; readonly file: SnapshotFile; readonly compactTo: number };

/** All that lies on the disk. `log` is shared and only appended to; what cuts it makes a new one. */
interface Image {
  /** The link before the first of `log`. */
  readonly behind: Link;
  readonly log: Link[];
  readonly length: number;
  readonly hardState: HardState;
  readonly snapshot: SnapshotFile;
}

export interface SimDisk {
  readonly hardState: HardState;
  readonly snapshot: SnapshotFile;
  readonly firstIndex: number;
  readonly lastIndex: number;
  /** Index and term of the last entry that a loss of power would leave, and the term and vote it would. */
  readonly durable: { readonly last: Link; readonly hardState: HardState };
  /** Undefined when compacted away or beyond the end. */
  at(index: number): Link | undefined;
  /** As `at`, of what a loss of power would leave. */
  durableAt(index: number): Link | undefined;
  /** Completes a job: its effect is seen, and durable when synced. */
  finish(job: DiskJob): void;
  /** The process ended; `inFlight` may or may not have reached the disk. With the power gone, unsynced writes neither. */
  crash(kind: "process" | "power", inFlight: DiskJob | undefined, random: Random): void;
  /**
   * Damage: the end of the log is gone though it was synced, or an entry of it is not what was written. What others
   * were promised stays to be seen here, so that it can be checked; the node itself finds out when it starts.
   */
  damage(kind: "lost-end" | "flipped-bit", random: Random): void;
  /**
   * What a node looks at before it starts: every entry by its checksum and chain, and the guard file, which says how far
   * the log and the term have been synced (cluster reference, 3.3).
   */
  isWhole(): boolean;
  /** What a core reads; `configuration` is that of the state applied at the start. */
  reader(configuration: () => Configuration): LogReader;
}

export function createDisk(ledger: Ledger, first: { readonly behind: Link; readonly snapshot: SnapshotFile }): SimDisk {
  const term = first.behind.term;
  let image: Image = {
    behind: first.behind,
    log: [],
    length: 0,
    hardState: { term, vote: undefined, commit: first.behind.index },
    snapshot: first.snapshot,
  };
  /** What a loss of power leaves at least; undefined while everything is synced. */
  let base: Image | undefined;
  let unsynced: LogWrite[] = [];
  /** The end of the log that the guard file knows of. */
  let guard: Link = first.behind;
  let isDamaged = false;

  const linkAt = ({ behind, log, length }: Image, index: number): Link | undefined => {
    const offset = index - behind.index;
    if (offset === 0) return behind;
    return offset > 0 && offset <= length ? log[offset - 1] : undefined;
  };
  const lastOf = ({ behind, log, length }: Image): Link => (length === 0 ? behind : log[length - 1]!);

  const written = (before: Image, { entries, hardState }: LogWrite): Image => {
    let { log, length } = before;
    const head = entries[0];
    if (head !== undefined) {
      const keep = head.index - before.behind.index - 1;
      must(
        keep >= 0 && keep <= length,
        "log without gaps",
        () => `${head.index} is written, log ends at ${lastOf(before).index}`,
      );
      if (keep < log.length) log = log.slice(0, keep);
      let previous = keep === 0 ? before.behind : log[keep - 1]!;
      for (const entry of entries) {
        previous = ledger.link(previous, entry);
        log.push(previous);
      }
      length = log.length;
    }
    return { ...before, log, length, hardState: hardState ?? before.hardState };
  };

  /** After the log, so that a crash between the two leaves a guard that promises less, never more. */
  const writeGuard = (): void => {
    guard = lastOf(image);
  };

  const finished = (before: Image, job: DiskJob): Image => {
    if (job.kind === "write") return written(before, job.write);
    const { file } = job;
    if (job.kind === "install") {
      return { behind: file.link, log: [], length: 0, hardState: job.hardState, snapshot: file };
    }
    if (file.meta.index <= before.snapshot.meta.index) return before;
    const behind = linkAt(before, Math.max(job.compactTo, before.behind.index))!;
    const log = before.log.slice(behind.index - before.behind.index, before.length);
    return { ...before, behind, log, length: log.length, snapshot: file };
  };

  return {
    get hardState() {
      return image.hardState;
    },
    get snapshot() {
      return image.snapshot;
    },
    get firstIndex() {
      return image.behind.index + 1;
    },
    get lastIndex() {
      return image.behind.index + image.length;
    },
    get durable() {
      return { last: lastOf(base ?? image), hardState: (base ?? image).hardState };
    },
    at: (index) => linkAt(image, index),
    durableAt: (index) => linkAt(base ?? image, index),
    finish(job) {
      if (job.kind === "write" && !job.write.sync) {
        base ??= image;
        unsynced.push(job.write);
      }
      image = finished(image, job);
      if (job.kind === "write" && !job.write.sync) return;
      base = undefined;
      unsynced = [];
      writeGuard();
    },
    crash(kind, inFlight, random) {
      let isWhole = true;
      if (kind === "power" && base !== undefined) {
        const kept = random.between(0, unsynced.length);
        isWhole = kept === unsynced.length;
        image = unsynced.slice(0, kept).reduce(written, base);
      }
      if (inFlight !== undefined && isWhole && random.chance(0.5)) image = finished(image, inFlight);
      base = undefined;
      unsynced = [];
    },
    damage(kind, random) {
      if (image.length === 0) return;
      const lost = random.between(1, Math.min(3, image.length));
      const left = linkAt(image, image.behind.index + image.length - lost)!;
      const isSeen = left.index < guard.index || left.index < image.hardState.commit;
      if (kind === "flipped-bit" || isSeen) isDamaged = true;
      else image = { ...image, log: image.log.slice(0, image.length - lost), length: image.length - lost };
    },
    isWhole: () => !isDamaged,
    reader(configuration) {
      return {
        initialState: () => ({ hardState: image.hardState, configuration: configuration() }),
        firstIndex: () => image.behind.index + 1,
        lastIndex: () => image.behind.index + image.length,
        term: (index) => linkAt(image, index)?.term,
        entries(low, high, maxBytes) {
          const from = low - image.behind.index - 1;
          const entries = [];
          let bytes = 0;
          for (let at = from; at < high - image.behind.index - 1; at += 1) {
            const { entry } = image.log[at]!;
            bytes += entry.data.length;
            if (entries.length > 0 && bytes > maxBytes) break;
            entries.push(entry);
          }
          return entries;
        },
        snapshot: () => image.snapshot.meta,
      };
    },
  };
}
