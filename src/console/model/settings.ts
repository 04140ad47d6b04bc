/** Settings of an operator for every console: colors, keys, custom commands and named gateways. Plain data. */

import type { Chord } from "./key-event.ts";
import type { Tone } from "./text.ts";

/** One of 256 terminal colors, of which the terminal's theme defines the first sixteen; or red, green and blue. */
export type Color = number | readonly [red: number, green: number, blue: number];

export type Attribute = "bold" | "dim" | "italic" | "underline" | "reverse";

export interface Paint {
  readonly foreground?: Color;
  readonly background?: Color;
  readonly attributes: readonly Attribute[];
}

/** Part that can be colored: the meanings of text, and the selected row. */
export type Role = Exclude<Tone, "plain"> | "selected";

export const ROLES: readonly Role[] = ["strong", "dim", "warn", "fail", "off", "changed", "selected"];

export type ThemeSpec = Readonly<Record<Role, Paint>>;

/** Reassigned keys. Dialogs, prompts and editors keep theirs, and Ctrl-C always leaves. */
export interface KeyMap {
  /** Standard chord of the key tables, by the pressed chord. */
  readonly ownOf: ReadonlyMap<Chord, Chord>;
  /** Chord to press, by the standard chord. */
  readonly shown: ReadonlyMap<Chord, Chord>;
  /** Standard chords that no longer have an effect, unless they are in `ownOf`. */
  readonly freed: ReadonlySet<Chord>;
}

export const NO_KEYS: KeyMap = { ownOf: new Map(), shown: new Map(), freed: new Set() };

export interface CustomCommand {
  readonly key: Chord;
  readonly name: string;
  /** Ids of the views where it works; `undefined` means all. */
  readonly views: readonly string[] | undefined;
  /**
   * Program and its arguments, each of which may contain `{field}`; or a text for `/bin/sh`, where a field becomes a parameter
   * and never part of the text.
   */
  readonly run:
    | { readonly kind: "argv"; readonly argv: readonly string[] }
    | { readonly kind: "shell"; readonly text: string };
}

/** Admin endpoint with a name. */
export interface NamedEndpoint {
  readonly name: string;
  readonly endpoint:
    | { readonly kind: "socket"; readonly path: string }
    | { readonly kind: "url"; readonly urls: readonly string[] };
}

/** Named gateway without its connection, for code that only selects one. */
export interface NamedContext {
  readonly name: string;
  /** Address in words. */
  readonly address: string;
}

export interface Settings {
  /** Name of a theme; `undefined` selects one by the terminal's background. */
  readonly theme: string | undefined;
  readonly themes: ReadonlyMap<string, ThemeSpec>;
  readonly keys: KeyMap;
  readonly commands: readonly CustomCommand[];
  readonly hasMouse: boolean | undefined;
  readonly contexts: readonly NamedEndpoint[];
}

/** Maximum length of a settings file, in bytes; usual ones are far smaller. */
export const MAX_SETTINGS_BYTES = 64 << 10;

export const NO_SETTINGS: Settings = {
  theme: undefined,
  themes: new Map(),
  keys: NO_KEYS,
  commands: [],
  hasMouse: undefined,
  contexts: [],
};
