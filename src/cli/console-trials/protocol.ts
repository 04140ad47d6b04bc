/** Messages between the console and its child process. They are sent with the structured clone algorithm. */

import type { OwnedDocument, PackFacts, PackTrial, Trial } from "../../console/index.ts";

export interface TrialResults {
  readonly packs: readonly PackFacts[];
  readonly pack: PackTrial;
  readonly threshold: Trial;
}

export type TrialRequest =
  /** Lists the packs that come with the program, then those at the paths in `paths`. */
  | { readonly kind: "packs"; readonly document: OwnedDocument; readonly paths: readonly string[] }
  /** Tests the first of the packs in `names`; it may build on the others. */
  | { readonly kind: "pack"; readonly document: OwnedDocument; readonly names: readonly string[] }
  | {
      readonly kind: "threshold";
      readonly document: OwnedDocument;
      readonly threshold: number;
      readonly detector: string | undefined;
    };

export interface TrialCommand {
  readonly request: TrialRequest;
  /** Working directory of the console, for relative paths. */
  readonly cwd: string;
}

export type TrialReply =
  /** One short line of progress. */
  | { readonly kind: "progress"; readonly message: string }
  | { readonly kind: "done"; readonly answer: TrialResults[keyof TrialResults] }
  /** Messages for the operator. */
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "failed"; readonly message: string };
