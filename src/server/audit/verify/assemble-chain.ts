/**
 * Assembles one chain from records in any order: sequences of linked records that grow and merge. Numbers that are
 * missing between two of them at the end are gaps.
 */

import { NO_HASH } from "../audit-record.ts";
import type { ExaminedRecord } from "./examine-block.ts";
import type { Fingerprints } from "./fingerprints.ts";
import type { ChainStart } from "./read-record.ts";
import type { FindingKind } from "./types.ts";

/** Maximum number of sequences in one chain. An input in random order has more, and must be sorted first. */
const MAX_RUNS = 10_000;

interface Run {
  readonly first: number;
  readonly firstPrev: string;
  readonly last: number;
  readonly lastHash: string;
}

interface ChainFinding {
  readonly kind: FindingKind;
  readonly seq: number;
  readonly message: string;
}

export interface ChainAssembler {
  readonly records: number;
  readonly copies: number;
  readonly start: ChainStart | undefined;
  readonly first: number;
  readonly last: number;
  /** Adds a record and returns its findings; none if it links to its neighbors or is a copy. */
  add(record: ExaminedRecord): readonly ChainFinding[];
  /** Returns the missing numbers between first and last, as ranges. */
  gaps(): readonly { readonly first: number; readonly last: number }[];
  /** Returns whether the record with this number has this hash. */
  compare(seq: number, hash: string): ReturnType<Fingerprints["compare"]>;
}

/** Creates an assembler. `watched`: numbers whose hash is needed at the end, however many records there are. */
export function createChainAssembler(fingerprints: Fingerprints, watched: readonly number[]): ChainAssembler {
  const byFirst = new Map<number, Run>();
  const byLast = new Map<number, Run>();
  const watchedHashes = new Map<number, string>();
  const watchedNumbers = new Set(watched);
  let records = 0;
  let copies = 0;
  let first = Number.POSITIVE_INFINITY;
  let last = -1;
  let start: ChainStart | undefined;

  function addRun(run: Run): void {
    byFirst.set(run.first, run);
    byLast.set(run.last, run);
  }

  function removeRun(run: Run): void {
    byFirst.delete(run.first);
    byLast.delete(run.last);
  }

  function link(record: ExaminedRecord): readonly ChainFinding[] {
    const { seq, prev, hash } = record;
    const before = byLast.get(seq - 1);
    const after = byFirst.get(seq + 1);
    if (before === undefined && after === undefined && byFirst.size >= MAX_RUNS) {
      return [{ kind: "bound", seq, message: `the chain has more than ${MAX_RUNS} holes: sort the input` }];
    }
    const findings: ChainFinding[] = [];
    if (before !== undefined && before.lastHash !== prev) {
      findings.push({ kind: "link", seq, message: `it does not link to record ${seq - 1}` });
    }
    if (after !== undefined && after.firstPrev !== hash) {
      findings.push({ kind: "link", seq: seq + 1, message: `it does not link to record ${seq}` });
    }
    if (before !== undefined) removeRun(before);
    if (after !== undefined) removeRun(after);
    addRun({
      first: before?.first ?? seq,
      firstPrev: before?.firstPrev ?? prev,
      last: after?.last ?? seq,
      lastHash: after?.lastHash ?? hash,
    });
    return findings;
  }

  return {
    get records() {
      return records;
    },
    get copies() {
      return copies;
    },
    get start() {
      return start;
    },
    get first() {
      return first;
    },
    get last() {
      return last;
    },
    add(record) {
      const { seq, hash } = record;
      if (watchedNumbers.has(seq) && !watchedHashes.has(seq)) watchedHashes.set(seq, hash);
      const known = fingerprints.compare(seq, hash);
      if (known === "same") {
        copies += 1;
        return [];
      }
      if (known === "other") return [{ kind: "fork", seq, message: "another record has the same number: a fork" }];
      if (known === "given up") {
        return [{ kind: "bound", seq, message: "it comes too late to be distinguished from a fork: sort the input" }];
      }
      fingerprints.put(seq, hash);
      records += 1;
      first = Math.min(first, seq);
      last = Math.max(last, seq);
      if (seq === 0) start = record.start;
      return [...firstFindings(record), ...link(record)];
    },
    gaps() {
      const runs = [...byFirst.values()].toSorted((a, b) => a.first - b.first);
      return runs.slice(1).map((run, index) => ({ first: (runs[index]?.last ?? 0) + 1, last: run.first - 1 }));
    },
    compare(seq, hash) {
      const exact = watchedHashes.get(seq);
      if (exact !== undefined) return exact === hash ? "same" : "other";
      return fingerprints.compare(seq, hash);
    },
  };
}

function firstFindings({ seq, prev, start }: ExaminedRecord): readonly ChainFinding[] {
  if (seq > 0) {
    return start === undefined ? [] : [{ kind: "start", seq, message: "a start record is within the chain" }];
  }
  const findings: ChainFinding[] = [];
  if (start === undefined) findings.push({ kind: "start", seq, message: "the first record is not a start record" });
  if (prev !== NO_HASH) findings.push({ kind: "link", seq, message: "the first record names one before it" });
  return findings;
}
