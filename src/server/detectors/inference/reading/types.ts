/** What comes of a text and the outputs of a model for its windows. */

import type { Tokens } from "../text/tokens.ts";
import type { TokenWindow } from "../text/windows.ts";

/** Places are UTF-16 units of the text. */
export interface Read {
  readonly start: number;
  readonly end: number;
  readonly label: string;
  readonly score: number;
}

/** What the graph gave for one window. */
export interface Output {
  readonly data: Float32Array;
  /** Where its values begin. */
  readonly at: number;
  /** Rows of values: one a token, special ones and padding included; 1 where the graph gives one for the whole window. */
  readonly rows: number;
  /** Values in a row. */
  readonly width: number;
  /** Rows that are not padding. */
  readonly used: number;
  /** Rows in front of the first token of the text: special tokens, and a prefix. */
  readonly before: number;
  /** Of the model that gave it, where a server tells. */
  readonly version?: string | undefined;
}

/** One text; its windows are taken in any order. */
export interface Reading {
  readonly take: (window: number, output: Output) => void;
  readonly end: () => readonly Read[];
}

export interface Reader {
  /** Of the graph's output: a row for each token, one for the text, or either. */
  readonly wants: "tokens" | "text" | "either";
  /** Values in a row; undefined: whatever the graph gives. */
  readonly width: number | undefined;
  readonly open: (text: string, tokens: Tokens, windows: readonly TokenWindow[]) => Reading;
}
