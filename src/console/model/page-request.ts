/** Content of a page of text, or of the attachment of a dialog. */

import type { DocumentChange } from "./documents.ts";

export type PageRequest =
  | DocumentPageRequest
  /** Explanation of a request: what decided it, and its audit records. */
  | { readonly kind: "explanation"; readonly id: string };

export type DocumentPageRequest =
  | { readonly kind: "document"; readonly source: string; readonly revision?: number }
  /** Unified difference of two revisions. If `to` is missing, the second one is the active revision. */
  | { readonly kind: "difference"; readonly source: string; readonly from: number; readonly to?: number }
  /** Preview of the changes of a document: a local file or an earlier revision. Writes nothing. */
  | {
      readonly kind: "preview";
      readonly source: string;
      readonly from: { readonly file: string } | { readonly revision: number };
    }
  /** Preview of an edited document; writes nothing. `change.file` is the path of the local file that owns the source, if any. */
  | { readonly kind: "edited"; readonly change: DocumentChange }
  /** Preview of what is removed with a source. Writes nothing. */
  | { readonly kind: "removal"; readonly source: string }
  /** Preview of a reload; `file` is the document of the node file if it is on this machine. */
  | { readonly kind: "reload"; readonly source: string; readonly file: string | undefined }
  /** Places where the stored configuration names these sealed secrets. */
  | { readonly kind: "secret_uses"; readonly names: readonly string[] };
