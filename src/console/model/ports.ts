/**
 * Ports to the local machine that the command line provides: commands that work without a gateway or with files, and persistent
 * storage. Every rejection is an `Error` whose message can be shown.
 */

import type { AdminAddress, AdminClient } from "../../admin-api/index.ts";
import type { DocumentChange, OwnedDocument, PackFacts, PackTrial, Trial } from "./documents.ts";
import type { SweepAnswer } from "./sweep.ts";
import type { Line } from "./text.ts";

export interface ConsoleEndpoint {
  readonly endpoint: AdminAddress;
  /** Name shown in the identity line. */
  readonly name: string;
  /** Flags on a command line: `-socket PATH` or `-url URL`, quoted for a shell where needed. */
  readonly flags: string;
}

/** Result of a local command; `isGood: false` corresponds to exit status 1. */
export interface Report {
  readonly isGood: boolean;
  readonly lines: readonly Line[];
}

export interface JobOptions {
  readonly signal: AbortSignal;
  /** Called with one short line that describes the progress. */
  onProgress(text: string): void;
}

/** Texts that are kept between runs. */
export type StoredText = "history" | "statements" | "preferences";

export interface ConsolePorts {
  /** Runs the code of `gateway audit verify`. */
  verifyAudit(file: string, options: JobOptions): Promise<Report>;
  /** Runs the code of `gateway snapshot save`; resolves with a description of what it wrote. */
  saveSnapshot(
    endpoint: AdminAddress,
    file: string,
    options: JobOptions & { readonly isStale: boolean },
  ): Promise<string>;
  /** Runs the code of `gateway snapshot restore`. */
  restoreSnapshot(endpoint: AdminAddress, file: string, options: JobOptions): Promise<string>;
  /** Runs the code of `gateway explain`; if no node knows the request, the lines say so. */
  explainRequest(client: AdminClient, id: string, signal: AbortSignal): Promise<readonly Line[]>;
  /**
   * Returns the type of a secret in the text, such as `GITHUB_TOKEN`, as the guardrails detect it; `undefined` if there is
   * none.
   */
  secretIn(text: string): Promise<string | undefined>;
  /** Reads a document of at most 4 MiB. */
  readDocument(file: string, signal: AbortSignal): Promise<string>;
  /** Opens the text in `$VISUAL` or `$EDITOR`, which uses the terminal meanwhile; resolves with the edited text. */
  editText(text: string, name: string, signal: AbortSignal): Promise<string>;
  /** Lists paths that begin with `text`, sorted by name, folders with a trailing slash; empty if the folder cannot be read. */
  completePath(text: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Writes atomically with mode 0600. Leaves an existing file unchanged unless `replaces` is set. `path` is absolute. */
  saveText(
    file: string,
    text: string,
    options: { readonly signal: AbortSignal; readonly replaces: boolean },
  ): Promise<{ readonly kind: "saved" | "exists"; readonly path: string }>;
  /**
   * Storage of this user that is kept between runs. Both functions resolve even if the storage cannot be read or
   * written; that is not an error.
   */
  readonly memory: {
    load(name: StoredText): Promise<string>;
    /** Saves a text. `next` derives it from the text that is stored at the time of writing. */
    save(name: StoredText, next: (kept: string) => string): Promise<void>;
  };
  /**
   * Yields text appended to a growing file, beginning with the first whole line in its last `fromEnd` bytes; ends with the
   * signal. `onWaiting` receives the reason why there is nothing to read yet, and `undefined` once there is.
   */
  follow(
    file: string,
    fromEnd: number,
    signal: AbortSignal,
    onWaiting: (reason: string | undefined) => void,
  ): AsyncIterable<string>;
  /** Tries changed documents without storing them; only `write` stores one. */
  readonly documents: {
    /**
     * Lists the bundled packs, then those at the paths `own` (packs or folders of packs). A pack that cannot be read is listed
     * with its `problem`.
     */
    packs(document: OwnedDocument, own: readonly string[], signal: AbortSignal): Promise<readonly PackFacts[]>;
    /**
     * Tries adding the first named pack, which may build on the others, and runs its test cases. The signal stops it at any
     * time.
     */
    tryPack(document: OwnedDocument, names: readonly string[], options: JobOptions): Promise<PackTrial>;
    /** Tries `guardrails.score_threshold`, 0 to 1; with a detector, its own `threshold`. */
    tryThreshold(
      document: OwnedDocument,
      to: { readonly threshold: number; readonly detector: string | undefined },
      signal: AbortSignal,
    ): Promise<Trial>;
    /** Returns an edited document with its `version` raised, if it differs from `before` and has the same version. */
    withRaisedVersion(before: string, after: string): Promise<string>;
    /** Returns a value that changes if the local file may have changed; empty if the file does not exist. */
    stampOf(file: string): Promise<string>;
    /**
     * Runs the code of `gateway guardrails eval -sweep` over the first document that has guardrails; `argumentText`:
     * local data files preceded by flags. Yields to other work every few milliseconds.
     */
    sweep(documents: readonly OwnedDocument[], argumentText: string, options: JobOptions): Promise<SweepAnswer>;
    /** Writes the document atomically to its file, only if the file still contains the text that was shown. */
    write(change: DocumentChange, signal: AbortSignal): Promise<void>;
  };
  /**
   * Runs a local program with exactly these arguments and no input; its environment names the admin endpoint. Stopped after a
   * minute. Resolves with the exit status and at most 1 MiB of output.
   */
  runCommand(
    argv: readonly string[],
    endpoint: AdminAddress,
    signal: AbortSignal,
  ): Promise<{ readonly message: string; readonly lines: readonly Line[] }>;
  /** Reads the text of the metrics page. Rejects after five seconds at the latest. */
  scrape(url: string, signal: AbortSignal): Promise<string>;
}
