/** What an operator set for every console: colours, keys, commands of their own, gateways by name. Plain data. */

import type { Chord } from "./key.ts";
import type { Tone } from "./text.ts";

/** One of the 256 colours of a terminal, of which its own theme defines the first sixteen; or red, green and blue. */
export type Colour = number | readonly [red: number, green: number, blue: number];

export type Attribute = "bold" | "dim" | "italic" | "underline" | "reverse";

export interface Paint {
  readonly foreground?: Colour;
  readonly background?: Colour;
  readonly attributes: readonly Attribute[];
}

/** What is painted: the meanings of text, and the row under the cursor. */
export type Role = Exclude<Tone, "plain"> | "selected";

export const ROLES: readonly Role[] = ["strong", "dim", "warn", "fail", "off", "changed", "selected"];

export type ThemeSpec = Readonly<Record<Role, Paint>>;

/** How keys were given to others. Dialogs, prompts and editors keep theirs, and Ctrl-C leaves whatever is set. */
export interface KeyMap {
  /** By what is pressed, the chord that the tables of keys name for what it does. */
  readonly ownOf: ReadonlyMap<Chord, Chord>;
  /** By that chord, what is to be pressed for it. */
  readonly shown: ReadonlyMap<Chord, Chord>;
  /** Chords of the tables that do nothing any more, unless they are in `ownOf`. */
  readonly freed: ReadonlySet<Chord>;
}

export const NO_KEYS: KeyMap = { ownOf: new Map(), shown: new Map(), freed: new Set() };

export interface CustomCommand {
  readonly key: Chord;
  readonly name: string;
  /** Ids of the views where it works; undefined: in all. */
  readonly views: readonly string[] | undefined;
  /**
   * Words that are a program and its arguments, each of which may hold `{field}`; or a text that `/bin/sh` is given,
   * where a field is a parameter and never a part of the text.
   */
  readonly run:
    | { readonly kind: "words"; readonly words: readonly string[] }
    | { readonly kind: "shell"; readonly text: string };
}

/** A gateway that has a name here. */
export interface NamedDoor {
  readonly name: string;
  readonly door:
    | { readonly kind: "socket"; readonly path: string }
    | { readonly kind: "url"; readonly urls: readonly string[] };
}

/** The same for those who only choose one. */
export interface NamedContext {
  readonly name: string;
  /** Where it is. */
  readonly about: string;
}

export interface Settings {
  /** Name of a theme; undefined: by the terminal's background. */
  readonly theme: string | undefined;
  readonly themes: ReadonlyMap<string, ThemeSpec>;
  readonly keys: KeyMap;
  readonly commands: readonly CustomCommand[];
  readonly hasMouse: boolean | undefined;
  readonly contexts: readonly NamedDoor[];
}

/** Maximum length of a settings file, in bytes; what operators write is a few. */
export const MAX_SETTINGS_BYTES = 64 << 10;

export const NO_SETTINGS: Settings = {
  theme: undefined,
  themes: new Map(),
  keys: NO_KEYS,
  commands: [],
  hasMouse: undefined,
  contexts: [],
};
