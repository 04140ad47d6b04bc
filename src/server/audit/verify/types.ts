/** Input and report of the verifier. Source: specification document 1, "audit verify". */

import type { AuditHead } from "../types.ts";

export interface TrailInput {
  /** Name in findings. */
  readonly name: string;
  readonly chunks: AsyncIterable<Uint8Array | string>;
}

/** Entry of the file of witnessed heads. */
export interface WitnessedHead extends AuditHead {
  readonly node: string;
}

export interface VerifyOptions {
  /** Raw keys of 32 bytes by their thumbprint, for chains whose start record is not in the input. */
  readonly keys?: ReadonlyMap<string, Uint8Array>;
  readonly heads?: readonly WitnessedHead[];
  /** Number of worker threads for a large input; 0 for none. Defaults to the number of processors, at most 8. */
  readonly threads?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: { readonly records: number; readonly bytes: number }) => void;
}

export type FindingKind =
  /** The record's content does not hash to its `hash`. */
  | "altered"
  | "signature"
  | "link"
  | "missing"
  /** Two records have the same number. */
  | "fork"
  /** The chain's key is unknown. */
  | "key"
  /** The first record is not a start record, or names another key. */
  | "start"
  /** The line looks like a record but cannot be parsed. */
  | "form"
  | "head"
  | "succeeds"
  /** Something could not be checked, since memory is limited. */
  | "bound"
  | "empty";

export interface Place {
  readonly file: string;
  /** Line number, from 1. */
  readonly line: number;
}

export interface Finding {
  readonly kind: FindingKind;
  readonly node?: string;
  readonly kid?: string;
  readonly seq?: number;
  readonly place?: Place;
  /** Sentence without its full stop. */
  readonly message: string;
}

export interface ChainReport {
  readonly node: string;
  readonly kid: string;
  /** Sequence numbers of the first and the last record in the input. */
  readonly first: number;
  readonly last: number;
  /** Number of distinct records, and of further copies of them. */
  readonly records: number;
  readonly copies: number;
  /**
   * Number of records that follow a later one of their chain in the same file, without copies. Reported, but not a
   * finding.
   */
  readonly misplaced: number;
  /** Place of the first of them. */
  readonly firstMisplaced: Place | undefined;
  /** True if the chain's key lasted as long as its process; `undefined` if the start record is not in the input. */
  readonly ephemeral: boolean | undefined;
  readonly isVerified: boolean;
}

export interface TrailReport {
  readonly chains: readonly ChainReport[];
  readonly findings: readonly Finding[];
  /** Number of findings that are not listed. */
  readonly unlisted: number;
  readonly records: number;
  /** Number of lines that begin like a record and are truncated, by a crash or a cut. */
  readonly cutShort: number;
  /** Number of decisions by control. Copies of a record count once, altered records not at all. */
  readonly controls: ReadonlyMap<string, number>;
  /** Number of decisions whose controls are not counted, since the input names too many. */
  readonly uncounted: number;
}
