/** Description of a verb of the command line. */

import type { FlagTable } from "./flags.ts";

/** Shells whose completion is printed. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** Words that `gateway help` explains beside the verbs. */
export const HELP_TOPICS = ["environment", "exit-status"] as const;

/** Documents whose JSON Schema is printed. */
export const SCHEMAS = ["node", "deployment"] as const;

/** The positional arguments a verb takes. */
export interface Positionals {
  /** Text of the usage line: `bash|zsh|fish`, `[VERB]`, `FILE...`. */
  readonly usage: string;
  readonly min: number;
  readonly max: number;
  /** Values that a shell offers for them. */
  readonly words?: "shells" | "schemas" | "verbs" | "operations" | "lists" | "conditions";
  /** Names of the running gateway that a shell offers: asked for by `gateway completion -names`. */
  readonly names?: NameKind;
  /** They are names of files, which a shell completes. */
  readonly areFiles?: true;
}

/** Kinds of names that completion asks a running gateway for. */
export const NAME_KINDS = [
  "suspendable",
  "suspensions",
  "keys",
  "secrets",
  "sources",
  "alerts",
  "acknowledgements",
] as const;
export type NameKind = (typeof NAME_KINDS)[number];

/** Purposes of verbs, in the order of the list of verbs. */
export const GROUPS = {
  run: "Run a gateway",
  operate: "Watch a running gateway",
  incident: "Change a running gateway",
  keep: "Keep, recover and prove its state",
  program: "About this program",
} as const;

export interface Verb {
  /** One word or two; empty for the daemon, which is the bare command. */
  readonly name: string;
  readonly group: keyof typeof GROUPS;
  /** One line, for the list of verbs. */
  readonly summary: string;
  /** Text below the usage in the help of the verb. */
  readonly description: string;
  readonly flags: FlagTable;
  readonly positionals: Positionals;
  /** Flags may also follow the positional arguments. */
  readonly isInterleaved?: true;
}
