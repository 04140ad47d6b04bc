/** Data derived locally from a stored document: packs, the result of adding one, and other edits. */

/** Active document of a source; empty if nothing is stored yet. */
export interface OwnedDocument {
  readonly source: string;
  /** Active revision; 0 if there is none. */
  readonly revision: number;
  /**
   * Path of the file that owns the source, as its node reports it; `undefined` if the source is written through the admin API.
   */
  readonly file: string | undefined;
  readonly text: string;
}

/** Document before and after a change. Both contain credentials as written, so neither is shown unmasked. */
export interface DocumentChange extends OwnedDocument {
  readonly after: string;
}

export type Compiling =
  | { readonly kind: "compiles"; readonly warnings: readonly string[] }
  | { readonly kind: "refused"; readonly problems: readonly string[] }
  /** The current document cannot be compiled on this machine either, for example because it uses variables of its node. */
  | { readonly kind: "not_here"; readonly reason: string };

/** Result of trying a change to a document on this machine. Nothing is written. */
export interface Trial {
  /** Reasons why the change is impossible, one line each. */
  readonly problems: readonly string[];
  /** Tried change; `undefined` if there are problems. `after` equals `text` if nothing would change. */
  readonly change: DocumentChange | undefined;
  readonly compiling: Compiling | undefined;
  /** Reason why the change cannot be written from here; `undefined` if it can. */
  readonly blockedReason: string | undefined;
}

export interface PackFacts {
  /** Id of a bundled pack, otherwise its path. */
  readonly name: string;
  readonly id: string;
  readonly version: string;
  readonly title: string;
  readonly buildsOn: readonly string[];
  readonly detectors: number;
  readonly rules: number;
  readonly controls: readonly { readonly id: string; readonly title: string; readonly citation: string }[];
  readonly readme: string;
  /**
   * `there` counts the pack's objects that the document already has. `problem` says that an object of the same name differs, or
   * that a dependency is missing.
   */
  readonly there: number;
  readonly objects: number;
  readonly problem: string | undefined;
}

export interface PackShelf extends Pick<OwnedDocument, "source" | "file" | "revision"> {
  readonly packs: readonly PackFacts[];
}

export interface PackTrial extends Trial {
  readonly objects: readonly {
    readonly pack: string;
    readonly list: string;
    readonly name: string;
    readonly change: "added" | "present" | "controls";
    readonly controls: readonly string[];
  }[];
  /** Results of the pack's own test cases and whether all passed; `undefined` if they could not be run. */
  readonly cases: { readonly lines: readonly string[]; readonly passes: boolean } | undefined;
}

/** Builds the name of a need from a source and one more value. `undefined` means the first source. */
export const namedOf = (source: string | undefined, of: string): string => JSON.stringify([source ?? null, of]);

/** Encodes the subject of a threshold trial; with a detector, its own threshold is tried. */
export const thresholdNamed = (threshold: string, detector: string | undefined): string =>
  detector === undefined ? threshold : `${threshold} ${detector}`;
export function thresholdOf(text: string): { readonly threshold: number; readonly detector: string | undefined } {
  const [, threshold = "", detector] = /^(\S*)(?: (.*))?$/s.exec(text) ?? [];
  return { threshold: Number(threshold), detector };
}

/**
 * Encodes the subject of a pack trial: the pack, and the local packs that it builds on. Separated by NUL, which no path
 * contains.
 */
export const packsNamed = (names: readonly string[]): string => names.join("\0");
export const packNamesOf = (text: string): readonly string[] => text.split("\0");
