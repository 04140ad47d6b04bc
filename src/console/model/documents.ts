/** What this machine works out of a stored document: packs, what adding one comes to, and what else may be written into it. */

/** The document of a source as it is in force, or empty where nothing is stored yet. */
export interface OwnedDocument {
  readonly source: string;
  /** 0: there is none yet. */
  readonly revision: number;
  /** Path of the file that is its single writer, as its node names it; undefined: the admin API writes it. */
  readonly file: string | undefined;
  readonly text: string;
}

/** A document before and after; both as they are, credentials written into it included, so neither is ever shown unmasked. */
export interface DocumentChange extends OwnedDocument {
  readonly after: string;
}

export type Compiling =
  | { readonly kind: "compiles"; readonly warnings: readonly string[] }
  | { readonly kind: "refused"; readonly problems: readonly string[] }
  /** The document as it stands cannot be compiled on this machine either, as where it takes variables of its node. */
  | { readonly kind: "not_here"; readonly why: string };

/** What a change to a document comes to, tried on this machine; nothing is written. */
export interface Trial {
  /** Why there is none: lines for a person. */
  readonly problems: readonly string[];
  /** Undefined where there are problems; `after` is `text` where nothing would change. */
  readonly change: DocumentChange | undefined;
  readonly compiling: Compiling | undefined;
  /** Why it cannot be written from here; undefined: it can. */
  readonly why: string | undefined;
}

export interface PackFacts {
  /** As it is named: the id of one that comes with the program, else a path. */
  readonly name: string;
  readonly id: string;
  readonly version: string;
  readonly title: string;
  readonly buildsOn: readonly string[];
  readonly detectors: number;
  readonly rules: number;
  readonly controls: readonly { readonly id: string; readonly title: string; readonly citation: string }[];
  readonly readme: string;
  /** Of its objects, those that the document has; `problem`: it has another of that name, or lacks what it needs. */
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
  /** Lines of its own cases, and of those their sum; undefined: they could not be run. */
  readonly cases: { readonly lines: readonly string[]; readonly passes: boolean } | undefined;
}

/** The name of a need that is about a source (undefined: the first) and something more. */
export const namedOf = (source: string | undefined, of: string): string => JSON.stringify([source ?? null, of]);

/** As what a trial of a threshold is about; with a detector, its own. */
export const thresholdNamed = (threshold: string, detector: string | undefined): string =>
  detector === undefined ? threshold : `${threshold} ${detector}`;
export function thresholdOf(text: string): { readonly threshold: number; readonly detector: string | undefined } {
  const [, threshold = "", detector] = /^(\S*)(?: (.*))?$/s.exec(text) ?? [];
  return { threshold: Number(threshold), detector };
}

/** As what a trial of a pack is about: the pack, and those of this machine that it builds on. No path holds a NUL. */
export const packsNamed = (names: readonly string[]): string => names.join("\0");
export const packNamesOf = (text: string): readonly string[] => text.split("\0");
