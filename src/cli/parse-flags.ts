/**
 * Flag parser with Go's syntax. It parses against a table of flags, and the types of the options follow from the table.
 *
 * Flags begin with one dash or two. A value follows as `-x=v` or `-x v`, even if `v` begins with a dash; a boolean
 * takes a value only after `=`. Parsing stops at `--` and, unless the verb is interleaved, at the first argument that
 * is not a flag; a single `-` is not one. If a flag is repeated, the last value counts, except for flags that collect
 * all values. Source: Go's package `flag`, design decisions section 9.
 *
 * Options are named in camel case (`-max-body` is `maxBody`); durations are in milliseconds.
 */

import { closestName, parseDuration } from "../base/index.ts";

interface FlagCommon {
  /** Meaning of the flag, in a line for the help text, without a full stop. */
  readonly meaning: string;
  /** Placeholder of the value in the usage: `PATH`, `ADDR`. `PATH` and `FILE` are completed with file names. */
  readonly value?: string;
  /** Values that a shell offers, if they have to be loaded. */
  readonly suggestions?: "presets";
  /** Default in words, if it is not a constant. */
  readonly defaultText?: string;
  /** Name of a flag that makes this one ignored; its value is then not even validated. */
  readonly ignoredWith?: string;
  /** True if the flag must be given and must not be empty. */
  readonly required?: true;
}

export type Flag =
  | (FlagCommon & { readonly kind: "string"; readonly default?: string; readonly choices?: readonly string[] })
  | (FlagCommon & { readonly kind: "strings" })
  | (FlagCommon & { readonly kind: "boolean" })
  | (FlagCommon & { readonly kind: "integer"; readonly default?: number; readonly min?: number; readonly max?: number })
  /** Never negative; `default` is in milliseconds. */
  | (FlagCommon & { readonly kind: "duration"; readonly default?: number });

/** Flags by their names as typed, without the dash. */
export type FlagTable = Readonly<Record<string, Flag>>;

type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

type ValueOf<F extends Flag> = F extends { readonly kind: "boolean" }
  ? boolean
  : F extends { readonly kind: "strings" }
    ? readonly string[]
    : F extends { readonly kind: "integer" | "duration" }
      ? number
      : F extends { readonly choices: readonly (infer Choice)[] }
        ? Choice
        : string;

type Presence<F extends Flag> = F extends
  | { readonly kind: "boolean" | "strings" }
  | { readonly default: string | number }
  | { readonly required: true }
  ? never
  : undefined;

/** Options of a verb: a value for each flag, `undefined` if the flag is absent and has no default. */
export type FlagsOf<Table extends FlagTable> = {
  readonly [Name in keyof Table & string as CamelCase<Name>]: ValueOf<Table[Name]> | Presence<Table[Name]>;
};

type Parsed<Table extends FlagTable> =
  | { readonly kind: "help" }
  | { readonly kind: "options"; readonly options: FlagsOf<Table>; readonly positionals: readonly string[] };

/**
 * Error for a command line that cannot be understood. The message and a hint about the help go to stderr, and the
 * status is 2.
 */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

type FlagValue = string | number | boolean | readonly string[];

interface ParseOptions {
  /** Usage of the positional arguments, for the error about an unknown flag with the name of one. */
  readonly usage?: string;
  /** Flags are also read after positional arguments, until `--`: `gateway suspend provider:openai -for 1h`. */
  readonly isInterleaved?: boolean;
}

/** Parses the arguments. Throws `UsageError`. */
export function parseFlags<const Table extends FlagTable>(
  table: Table,
  args: readonly string[],
  { isInterleaved = false, usage = "" }: ParseOptions = {},
): Parsed<Table> {
  const values = new Map<string, FlagValue>();
  const before: string[] = [];
  const faults: { readonly flag: Flag; readonly error: unknown }[] = [];
  let at = 0;
  for (; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    if (!arg.startsWith("-") || arg === "-") {
      if (!isInterleaved) break;
      before.push(arg);
      continue;
    }
    if (arg === "--") {
      at += 1;
      break;
    }
    const { name, inline } = splitFlag(arg);
    const flag = Object.hasOwn(table, name) ? table[name] : undefined;
    if (flag === undefined) {
      if (name === "h" || name === "help") return { kind: "help" };
      throw new UsageError(`unknown flag '-${clipArgument(name)}'${unknownFlagHint(name, table, usage)}`);
    }
    if (flag.kind === "boolean") {
      values.set(name, readBoolean(name, inline ?? "true"));
      continue;
    }
    if (inline === undefined) at += 1;
    const text = inline ?? args[at];
    if (text === undefined) throw new UsageError(`flag '-${name}' needs a value`);
    const earlier = values.get(name);
    try {
      values.set(name, readValue(name, flag, text, Array.isArray(earlier) ? earlier : []));
    } catch (error) {
      faults.push({ flag, error });
    }
  }
  const fault = faults.find(({ flag: { ignoredWith } }) => ignoredWith === undefined || !values.has(ignoredWith));
  if (fault !== undefined) throw fault.error;
  return { kind: "options", options: complete(table, values), positionals: [...before, ...args.slice(at)] };
}

/**
 * Returns what was meant by an unknown flag: a positional argument (`-url` for `[URL]`, `-f` for `FILE`), or a flag with a similar
 * name. Returns an empty text if neither is known.
 */
function unknownFlagHint(name: string, table: FlagTable, usage: string): string {
  const words = usage.match(/[A-Z]+(?:[-:/][A-Z]+)*/g) ?? [];
  const meant = (isMeant: (word: string) => boolean): string => {
    const word = words.find((each) => [each, ...each.split(/[-:/]/)].some((part) => isMeant(part.toLowerCase())));
    return word === undefined ? "" : `: give ${word} as an argument, without a flag`;
  };
  return (
    meant((word) => word === name) ||
    didYouMean(name, Object.keys(table), "-") ||
    meant((word) => name !== "" && word.startsWith(name))
  );
}

/** Returns the name of the flag that an argument gives, without dashes and value. */
export const flagNameOf = (arg: string): string => splitFlag(arg).name;

function splitFlag(arg: string): { readonly name: string; readonly inline: string | undefined } {
  const undashed = arg.replace(/^--?/, "");
  const equals = undashed.indexOf("=");
  return equals < 0
    ? { name: undashed, inline: undefined }
    : { name: undashed.slice(0, equals), inline: undashed.slice(equals + 1) };
}

function readBoolean(name: string, text: string): boolean {
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw new UsageError(`flag '-${name}' is true or false, not '${clipArgument(text)}'`);
}

function readValue(
  name: string,
  flag: Exclude<Flag, { kind: "boolean" }>,
  text: string,
  before: readonly string[],
): FlagValue {
  switch (flag.kind) {
    case "strings":
      return [...before, text];
    case "integer":
      return readInteger(name, flag, text);
    case "duration": {
      const ms = parseDuration(text);
      if (ms === undefined || ms < 0) {
        throw new UsageError(`flag '-${name}' takes a duration such as 250ms or 1m30s, not '${clipArgument(text)}'`);
      }
      return ms;
    }
    case "string":
      if (flag.choices !== undefined && !flag.choices.includes(text)) {
        throw new UsageError(`flag '-${name}' is ${anyOf(flag.choices)}, not '${clipArgument(text)}'`);
      }
      return text;
    default:
      return flag satisfies never;
  }
}

/** Joins the choices as `a, b or c`. */
function anyOf(choices: readonly string[]): string {
  return [choices.slice(0, -1).join(", "), ...choices.slice(-1)].join(" or ");
}

function readInteger(name: string, flag: { readonly min?: number; readonly max?: number }, text: string): number {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = flag;
  const number = /^[-+]?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number === 0 ? 0 : number;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new UsageError(`flag '-${name}' takes an integer ${range}, not '${clipArgument(text)}'`);
}

/**
 * Converts the parsed values to the typed options. Only this function needs a type assertion, since the values come
 * from text.
 */
function complete<Table extends FlagTable>(table: Table, values: ReadonlyMap<string, FlagValue>): FlagsOf<Table> {
  const options: Record<string, FlagValue | undefined> = {};
  for (const [name, flag] of Object.entries(table)) {
    const value = values.get(name) ?? absent(flag);
    if (flag.required && (value === undefined || value === "")) throw new UsageError(`flag '-${name}' is required`);
    options[camelCase(name)] = value;
  }
  return options as FlagsOf<Table>;
}

function absent(flag: Flag): FlagValue | undefined {
  if (flag.kind === "boolean") return false;
  if (flag.kind === "strings") return [];
  return flag.default;
}

function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Shortens an argument for an error message and replaces control characters. Never use it for the value of an unknown
 * flag, which may be a secret.
 */
export function clipArgument(text: string): string {
  const printable = text.replace(/[^\x20-\x7e\u00a0-\u{10ffff}]/gu, "?");
  return printable.length > 40 ? `${printable.slice(0, 40)}...` : printable;
}

/** Returns ` (did you mean 'x'?)` with the candidate closest to `text`, or an empty text if none is close. */
export function didYouMean(text: string, candidates: readonly string[], prefix = ""): string {
  const best = closestName(text, candidates);
  return best === undefined ? "" : ` (did you mean '${prefix}${best}'?)`;
}
