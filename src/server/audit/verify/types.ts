/** Input and report of the verifier. Source: specification document 1, "audit verify". */

import type { AuditHead } from "../types.ts";

export interface TrailInput {
  /** Name that findings show. */
  readonly name: string;
  readonly chunks: AsyncIterable<Uint8Array | string>;
}

/** An entry of the witnessed heads file. */
export interface WitnessedHead extends AuditHead {
  readonly node: string;
}

export interface VerifyOptions {
  /** Raw keys of 32 bytes by their thumbprint, for chains whose start record is not in the input. */
  readonly keys?: ReadonlyMap<string, Uint8Array>;
  readonly heads?: readonly WitnessedHead[];
  /** Worker threads once the input is large; 0: none. Default: as many as there are processors, at most 8. */
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
  /** Two records of one number. */
  | "fork"
  /** The chain's key is not known. */
  | "key"
  /** The first record is not a start record, or one that names another key. */
  | "start"
  /** A line that is a record's, and cannot be read as one. */
  | "form"
  | "head"
  | "succeeds"
  /** Memory is bounded, and something could not be checked. */
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
  /** A sentence without its full stop. */
  readonly message: string;
}

export interface ChainReport {
  readonly node: string;
  readonly kid: string;
  /** Sequence numbers of the first and the last record seen. */
  readonly first: number;
  readonly last: number;
  /** Distinct ones, and further copies of them. */
  readonly records: number;
  readonly copies: number;
  /** Records that follow a later one of their chain in the same file, without copies. Reported, but no finding. */
  readonly misplaced: number;
  /** Place of the first of them. */
  readonly firstMisplaced: Place | undefined;
  /** `undefined` if the start record is not in the input. */
  readonly ephemeral: boolean | undefined;
  readonly isVerified: boolean;
}

export interface TrailReport {
  readonly chains: readonly ChainReport[];
  readonly findings: readonly Finding[];
  /** Findings beyond those that are listed. */
  readonly unlisted: number;
  readonly records: number;
  /** Lines that begin as a record and end early, as a crash or a cut leaves them. */
  readonly cutShort: number;
  /** Number of decisions by control. Copies of a record count once, altered records not at all. */
  readonly controls: ReadonlyMap<string, number>;
  /** Decisions whose controls are left out, since the input names more than can be counted. */
  readonly uncounted: number;
}
