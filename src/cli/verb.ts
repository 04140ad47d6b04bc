/** Description of a verb of the command line. */

import type { FlagTable } from "./parse-flags.ts";

/** Shells that have a completion script. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** Topics of `gateway help` other than verbs. */
export const HELP_TOPICS = ["environment", "exit-status"] as const;

/** Documents that have a JSON Schema. */
export const SCHEMAS = ["node", "deployment"] as const;

/** Positional arguments of a verb. */
export interface Positionals {
  /** Text for the usage line: `bash|zsh|fish`, `[VERB]`, `FILE...`. */
  readonly usage: string;
  readonly min: number;
  readonly max: number;
  /** Fixed set of values that the shell completes. */
  readonly suggestions?: "shells" | "schemas" | "verbs" | "operations" | "lists" | "conditions";
  /** Kind of names that the shell completes from the running gateway, through `gateway completion -names`. */
  readonly names?: NameKind;
  /** True if the arguments are file names, which the shell completes. */
  readonly areFiles?: true;
}

/** Kinds of names that completion requests from a running gateway. */
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

/** Groups of verbs, in the order of the overview. */
export const GROUPS = {
  run: "Run a gateway",
  operate: "Watch a running gateway",
  incident: "Change a running gateway",
  keep: "Keep, recover and prove its state",
  program: "About this program",
} as const;

export interface Verb {
  /** Name of one or two words; empty for the daemon, which is the bare command. */
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
