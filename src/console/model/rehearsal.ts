/** A change of a document, rehearsed on the requests of the last hour while the dialog that confirms it is open. */

import type { RehearsalResult } from "../../admin-api/index.ts";

export interface RehearsalRequest {
  /** Source whose document would be replaced. */
  readonly source: string;
  readonly from:
    | { readonly kind: "document"; readonly document: string }
    /** A file of this machine. */
    | { readonly kind: "file"; readonly file: string }
    /** An earlier revision of the source. */
    | { readonly kind: "revision"; readonly revision: number };
}

export type RehearsalOutcome =
  | { readonly kind: "done"; readonly result: RehearsalResult }
  /** Nothing was rehearsed; `why` in one line, without controls. */
  | { readonly kind: "none"; readonly why: string };

export interface Rehearsal {
  /** Names it while it is under way. */
  readonly id: number;
  readonly request: RehearsalRequest;
  /** `undefined`: it is under way. */
  readonly outcome: RehearsalOutcome | undefined;
}

/** A rehearsal whose requests are listed. */
export interface RehearsedRequests {
  /** Title of the dialog that it belongs to. */
  readonly title: string;
  readonly result: RehearsalResult;
}

/** Documents may be large, so that they are not serialized for it. */
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

/** Whether the rehearsal has more to show than one line. */
export const hasRows = ({ changes, reasons }: RehearsalResult): boolean => changes.length + reasons.length > 0;
