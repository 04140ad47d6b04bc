/** Messages between the console and its child process. Structured clones. */

import type { OwnedDocument, PackFacts, PackTrial, Trial } from "../../console/index.ts";

export interface Answers {
  readonly packs: readonly PackFacts[];
  readonly pack: PackTrial;
  readonly threshold: Trial;
}

export type Asked =
  /** Packs of the program, then those at the paths `own`. */
  | { readonly kind: "packs"; readonly document: OwnedDocument; readonly own: readonly string[] }
  /** The first of the names is tried; it may build on the others. */
  | { readonly kind: "pack"; readonly document: OwnedDocument; readonly names: readonly string[] }
  | {
      readonly kind: "threshold";
      readonly document: OwnedDocument;
      readonly threshold: number;
      readonly detector: string | undefined;
    };

export interface ToTrial {
  readonly asked: Asked;
  /** Working directory of the console, for relative paths. */
  readonly cwd: string;
}

export type FromTrial =
  /** One short line of progress. */
  | { readonly kind: "progress"; readonly words: string }
  | { readonly kind: "done"; readonly answer: Answers[keyof Answers] }
  /** Lines for a person. */
  | { readonly kind: "refused"; readonly words: string }
  | { readonly kind: "failed"; readonly words: string };
