/** What is read for a page of text, or for what a dialog shows beside its words. */

import type { DocumentChange } from "./documents.ts";

export type PageRequest =
  | { readonly kind: "document"; readonly source: string; readonly revision?: number }
  /** Unified difference of two revisions; `to` undefined: the one in force. */
  | { readonly kind: "difference"; readonly source: string; readonly from: number; readonly to?: number }
  /** What a document would change: a file of this machine, or an earlier revision. Writes nothing. */
  | {
      readonly kind: "preview";
      readonly source: string;
      readonly from: { readonly file: string } | { readonly revision: number };
    }
  /** What an edited document would change; writes nothing. Its path, if a file of this machine owns the source. */
  | { readonly kind: "edited"; readonly change: DocumentChange }
  /** What goes with a source that is deleted. Writes nothing. */
  | { readonly kind: "removal"; readonly source: string }
  /** What a reload would change; `file`: the document of the node file, where it is one of this machine. */
  | { readonly kind: "reload"; readonly source: string; readonly file: string | undefined }
  /** Where the stored configuration names these sealed secrets. */
  | { readonly kind: "secret_uses"; readonly names: readonly string[] };
