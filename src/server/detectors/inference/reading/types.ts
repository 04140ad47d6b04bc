/** Interfaces to convert a text and the outputs of a model for its windows to findings. */

import type { Tokens } from "../text/text-tokens.ts";
import type { TokenWindow } from "../text/token-windows.ts";

/** Finding in a text; positions are UTF-16 units. */
export interface ModelFinding {
  readonly start: number;
  readonly end: number;
  readonly label: string;
  readonly score: number;
}

/** Output of the graph for one window. */
export interface Output {
  readonly data: Float32Array;
  /** Index of its first value. */
  readonly at: number;
  /**
   * Number of rows: one per token, including special tokens and padding; 1 if the graph returns one for the whole
   * window.
   */
  readonly rows: number;
  /** Number of values in a row. */
  readonly width: number;
  /** Number of rows that are not padding. */
  readonly usedRows: number;
  /** Number of rows before the first token of the text: special tokens, and a prefix. */
  readonly rowsBeforeText: number;
  /** Version of the model, if a server reports it. */
  readonly version?: string | undefined;
}

/** Reader of one text. Its windows may arrive in any order. */
export interface TextReading {
  readonly addWindow: (window: number, output: Output) => void;
  readonly finish: () => readonly ModelFinding[];
}

export interface Reader {
  /** Required form of the graph's output: a row for each token, one for the text, or either. */
  readonly outputForm: "tokens" | "text" | "either";
  /** Number of values in a row; `undefined` for any. */
  readonly width: number | undefined;
  readonly open: (text: string, tokens: Tokens, windows: readonly TokenWindow[]) => TextReading;
}
