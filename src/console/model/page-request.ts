/** What is read for a page of text, or for what a dialog shows beside its words. */

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
  /** What a reload would apply: the document of the node file, where this machine has it, over the stored one. */
  | { readonly kind: "reload"; readonly source: string; readonly file: string }
  /** Where the stored configuration names these sealed secrets. */
  | { readonly kind: "secret_uses"; readonly names: readonly string[] };
