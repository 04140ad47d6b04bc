/**
 * A node's simulated disk: log, hard state and snapshots, with the semantics of the production storage. Writes happen
 * one at a time and are complete or absent after a crash. The process sees an unsynced write at once, but a power loss
 * may undo it; a later synced write makes it durable.
 */

import type { LogWrite } from "../../src/server/cluster/storage/types.ts";
import type { Configuration, HardState, LogReader, SnapshotMeta } from "../../src/server/core/raft/index.ts";
import type { Ledger, Link } from "./ledger.ts";
import type { Machine } from "./machine.ts";
import type { Random } from "./random.ts";
import { must } from "./violation.ts";

/** A snapshot file: the state at `link`, with the members' storage identities at that point. */
export interface SnapshotFile {
  readonly meta: SnapshotMeta;
  readonly link: Link;
  readonly machine: Machine;
  readonly storages: ReadonlyMap<string, number>;
}

export type DiskJob =
  | { readonly kind: "write"; readonly write: LogWrite }
  | { readonly kind: "install"; readonly file: SnapshotFile; readonly hardState: HardState }
  /** Records a local snapshot and drops the log up to `compactTo`. */
  | { readonly kind: "record"; readonly file: SnapshotFile; readonly compactTo: number };

/** The contents of a disk. `log` is shared and only appended to; truncation makes a new array. */
interface Image {
  /** The link before the first entry of `log`. */
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
  /** Index and term of the last entry that survives a power loss, and the surviving term and vote. */
  readonly durable: { readonly last: Link; readonly hardState: HardState };
  /** `undefined` when the entry is compacted away or beyond the end. */
  at(index: number): Link | undefined;
  /** Like `at`, for entries that survive a power loss. */
  durableAt(index: number): Link | undefined;
  /** Completes a job: its effect becomes visible, and durable if synced. */
  finish(job: DiskJob): void;
  /**
   * The process ended; the job in flight may or may not have reached the disk. After a power loss, unsynced writes may
   * also be missing.
   */
  crash(kind: "process" | "power", inFlight: DiskJob | undefined, random: Random): void;
  /**
   * Damages the disk: the synced end of the log is gone, or an entry is altered. What the node promised to others
   * remains visible here for the checks; the node itself notices when it starts.
   */
  damage(kind: "lost-end" | "flipped-bit", random: Random): void;
  /**
   * Checks of a node before it starts: every entry by checksum and chain, and the guard file, which records how far
   * log and term were synced (cluster reference, 3.3).
   */
  isWhole(): boolean;
  /** The core's reader; `configuration` is that of the state applied at the start. */
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
  /** The least that survives a power loss; `undefined` while everything is synced. */
  let base: Image | undefined;
  let unsynced: LogWrite[] = [];
  /** End of the log recorded in the guard file. */
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

  /** Written after the log, so a crash between the two leaves a guard that promises less, never more. */
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
