/**
 * Rehearsal: the requests of the last hour are evaluated against a changed document while the dialog that confirms the change is
 * open.
 */

import type { RehearsalResult } from "../../admin-api/index.ts";

export interface RehearsalRequest {
  /** Source whose document would be replaced. */
  readonly source: string;
  readonly from:
    | { readonly kind: "document"; readonly document: string }
    /** Local file. */
    | { readonly kind: "file"; readonly file: string }
    /** Earlier revision of the source. */
    | { readonly kind: "revision"; readonly revision: number };
}

export type RehearsalOutcome =
  | { readonly kind: "done"; readonly result: RehearsalResult }
  /** No result. `reason` is one line without control characters. */
  | { readonly kind: "none"; readonly reason: string };

export interface Rehearsal {
  /** Id of the run, for its result and for canceling it. */
  readonly id: number;
  readonly request: RehearsalRequest;
  /** Result; `undefined` while the rehearsal is running. */
  readonly outcome: RehearsalOutcome | undefined;
}

/** Rehearsal whose requests are listed. */
export interface RehearsedRequests {
  /** Title of the dialog that it belongs to. */
  readonly title: string;
  readonly result: RehearsalResult;
}

/** Returns whether two requests are equal. Compares members one by one, because serializing large documents would be slow. */
export function isSameRequest(a: RehearsalRequest | undefined, b: RehearsalRequest | undefined): boolean {
  if (a === b) return true;
  return (
    a !== undefined &&
    b !== undefined &&
    a.source === b.source &&
    a.from.kind === b.from.kind &&
    contentOf(a) === contentOf(b)
  );
}

function contentOf({ from }: RehearsalRequest): string | number {
  switch (from.kind) {
    case "document":
      return from.document;
    case "file":
      return from.file;
    case "revision":
      return from.revision;
    default:
      return from satisfies never;
  }
}

/** Returns whether the rehearsal has more to show than one line. */
export const hasRows = ({ changes, reasons }: RehearsalResult): boolean => changes.length + reasons.length > 0;
