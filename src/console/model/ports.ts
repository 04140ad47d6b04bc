/**
 * What the console needs of the machine it runs on, handed in by the command line: the verbs that work without a gateway
 * or with files, and the places where it remembers. Nothing here rejects with what is not an `Error` fit to be shown.
 */

import type { AdminDoor } from "../../admin-api/index.ts";
import type { DocumentChange, OwnedDocument, PackFacts, PackTrial, Trial } from "./documents.ts";
import type { SweepAnswer } from "./sweep.ts";
import type { Line } from "./text.ts";

export interface ConsoleDoor {
  readonly door: AdminDoor;
  /** For the identity line. */
  readonly name: string;
  /** As a command line spells it: `-socket PATH` or `-url URL`, quoted for a shell where needed. */
  readonly flags: string;
}

/** What a local verb reports; `isGood` false is its exit status 1. */
export interface Report {
  readonly isGood: boolean;
  readonly lines: readonly Line[];
}

export interface JobOptions {
  readonly signal: AbortSignal;
  /** One short line of how far it is. */
  onProgress(words: string): void;
}

/** Texts that are kept over runs. */
export type Remembered = "history" | "statements" | "preferences";

export interface ConsolePorts {
  /** The code of `gateway audit verify`. */
  verifyAudit(file: string, options: JobOptions): Promise<Report>;
  /** The code of `gateway snapshot save`; resolves with what it wrote, in words. */
  saveSnapshot(door: AdminDoor, file: string, options: JobOptions & { readonly isStale: boolean }): Promise<string>;
  /** The code of `gateway snapshot restore`. */
  restoreSnapshot(door: AdminDoor, file: string, options: JobOptions): Promise<string>;
  /** The type of a secret that the text holds, such as `GITHUB_TOKEN`, as guardrails find it; undefined: none is found. */
  secretIn(text: string): Promise<string | undefined>;
  /** A document of at most 4 MiB. */
  readDocument(file: string, signal: AbortSignal): Promise<string>;
  /** In the editor of `$VISUAL` or `$EDITOR`, which has the terminal meanwhile; resolves with the text as it was left. */
  editText(text: string, name: string, signal: AbortSignal): Promise<string>;
  /** Paths that begin with `text`, folders with a slash at their end, by name; none where it cannot be looked. */
  completePath(text: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Whole or not at all, mode 0600. A file that exists is left as it is unless `replaces` is set. `path` is absolute. */
  saveText(
    file: string,
    text: string,
    options: { readonly signal: AbortSignal; readonly replaces: boolean },
  ): Promise<{ readonly kind: "saved" | "exists"; readonly path: string }>;
  /** Kept over runs, for this user alone; both resolve when they cannot be read or kept, which is no fault. */
  readonly memory: {
    load(name: Remembered): Promise<string>;
    /** `next` makes the text to be kept of the one that is kept when it is written. */
    save(name: Remembered, next: (kept: string) => string): Promise<void>;
  };
  /**
   * New text of a file that grows, from the first whole line in its last `fromEnd` bytes on; ends with the signal. Told by
   * `onWaiting` is why there is nothing to read yet, and undefined once there is.
   */
  follow(
    file: string,
    fromEnd: number,
    signal: AbortSignal,
    onWaiting: (why: string | undefined) => void,
  ): AsyncIterable<string>;
  /** What is tried on documents before it is written; only `write` writes. */
  readonly documents: {
    /**
     * Those that come with the program, then those at the paths `own`: packs, or folders of packs. One that cannot be had is
     * there with its `problem`.
     */
    packs(document: OwnedDocument, own: readonly string[], signal: AbortSignal): Promise<readonly PackFacts[]>;
    /** The first of the names, which may build on the others; its own cases are run. Ended by the signal, whatever it does. */
    tryPack(document: OwnedDocument, names: readonly string[], options: JobOptions): Promise<PackTrial>;
    /** `guardrails.score_threshold`, 0 to 1; with a detector its own `threshold`. */
    tryThreshold(
      document: OwnedDocument,
      to: { readonly threshold: number; readonly detector: string | undefined },
      signal: AbortSignal,
    ): Promise<Trial>;
    /** An edited document of a file, with its `version` raised if it differs and has the same one. */
    withRaisedVersion(before: string, after: string): Promise<string>;
    /** Another text once that file of this machine may be another; empty: it is not there. */
    stampOf(file: string): Promise<string>;
    /**
     * The code of `gateway guardrails eval -sweep` over the first that has guardrails; `words`: data files of this machine
     * with flags before them. Others are let in at least every few milliseconds.
     */
    sweep(documents: readonly OwnedDocument[], words: string, options: JobOptions): Promise<SweepAnswer>;
    /** Into its file, whole or not at all, over exactly the text that was looked at. */
    write(change: DocumentChange, signal: AbortSignal): Promise<void>;
  };
  /**
   * A program of this machine with exactly these arguments, without input and told of the door by its environment; ended
   * after a minute. Resolves with how it ended, and what it said: at most 1 MiB.
   */
  runCommand(
    argv: readonly string[],
    door: AdminDoor,
    signal: AbortSignal,
  ): Promise<{ readonly words: string; readonly lines: readonly Line[] }>;
  /** Text of the metrics page. Rejects after five seconds at the latest. */
  scrape(url: string, signal: AbortSignal): Promise<string>;
}
