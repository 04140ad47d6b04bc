/**
 * The help texts, made from the table of verbs. `meow` lays description and body out; it parses nothing, since it
 * reads `-config` as six short flags.
 */

import meow from "meow";
import { formatDuration } from "../../base/index.ts";
import { clip, type Flag, type FlagsOf, type FlagTable, UsageError } from "../flags.ts";
import type { ExitStatus, Io } from "../io.ts";
import type { noFlags } from "../specs.ts";
import { DAEMON, findVerb, GROUPS, VERBS, type Verb } from "../verb-table.ts";

/** Columns. Help is read in a terminal, and the usual one is no wider. */
const WIDTH = 80;

export async function run(_: FlagsOf<typeof noFlags>, words: readonly string[], io: Io): Promise<ExitStatus> {
  const group = groupOf(words);
  if (group.length > 0) {
    io.stdout.write(group.map(helpOf).join("\n"));
    return 0;
  }
  const { verb, rest } = findVerb(words);
  if (rest.length > 0) throw new UsageError(`unknown verb '${clip(words.join(" "))}'`);
  return printHelp(verb, io);
}

/** The verbs of two words that begin with this one. */
function groupOf([first, ...more]: readonly string[]): readonly Verb[] {
  return more.length > 0 ? [] : VERBS.filter(({ name }) => name.startsWith(`${first} `));
}

/** On stdout: help that was asked for is data. */
export function printHelp(verb: Verb, io: Io): ExitStatus {
  io.stdout.write(verb === DAEMON ? overview() : helpOf(verb));
  return 0;
}

export function overview(): string {
  return layOut(DAEMON.description, [
    "Usage: gateway [FLAGS]\n       gateway VERB [FLAGS] [ARGUMENTS]\n       gateway --version",
    ...verbsByGroup(),
    `Flags of the bare command:\n${flagLines(DAEMON.flags)}`,
    "Run 'gateway help VERB' for the flags of a verb.",
  ]);
}

/** A section for each group; the summaries of all stand below one another. */
function verbsByGroup(): readonly string[] {
  const left = Math.max(...VERBS.map(({ name }) => name.length)) + 2;
  return Object.entries(GROUPS).map(([group, title]) => {
    const members = VERBS.filter((verb) => verb.group === group);
    return `${title}:\n${columns(
      members.map(({ name, summary }) => [name, summary]),
      left,
    )}`;
  });
}

export function helpOf(verb: Verb): string {
  const { description, flags } = verb;
  const sections = [`Usage: ${usage(verb)}`];
  if (Object.keys(flags).length > 0) sections.push(`Flags:\n${flagLines(flags)}`);
  return layOut(description, sections);
}

/** `gateway check -config PATH [-timeout DURATION] [-offline]` */
export function usage({ name, flags, positionals }: Verb): string {
  const parts = Object.entries(flags).map(([flagName, flag]) => {
    const spelled = spell(flagName, flag);
    if (flag.required) return spelled;
    return flag.kind === "strings" ? `[${spelled}]...` : `[${spelled}]`;
  });
  return ["gateway", name, ...parts, positionals.usage].filter((part) => part !== "").join(" ");
}

function layOut(description: string, sections: readonly string[]): string {
  const { help } = meow({
    importMeta: import.meta,
    argv: [],
    // Given, since meow otherwise looks for a package.json above the bundle; it also becomes the process title.
    pkg: { name: "gateway" },
    description: wrap(description, WIDTH).join("\n"),
    help: sections.join("\n\n"),
    helpIndent: 0,
    autoHelp: false,
    autoVersion: false,
  });
  return `${help.trim()}\n`;
}

function flagLines(flags: FlagTable): string {
  return columns(Object.entries(flags).map(([name, flag]) => [spell(name, flag), explain(flag)]));
}

function spell(name: string, flag: Flag): string {
  return flag.kind === "boolean" ? `-${name}` : `-${name} ${flag.value ?? "VALUE"}`;
}

function explain(flag: Flag): string {
  if (flag.required) return `${flag.meaning} (required)`;
  const fallback = flag.defaultText ?? defaultOf(flag);
  return fallback === undefined ? flag.meaning : `${flag.meaning} (default ${fallback})`;
}

function defaultOf(flag: Flag): string | undefined {
  switch (flag.kind) {
    case "boolean":
    case "strings":
      return undefined;
    case "duration":
      return flag.default === undefined ? undefined : formatDuration(flag.default);
    case "string":
    case "integer":
      return flag.default?.toString();
    default:
      return flag satisfies never;
  }
}

function columns(
  rows: readonly (readonly [string, string])[],
  left = Math.max(...rows.map(([name]) => name.length)) + 2,
): string {
  const lines = rows.flatMap(([name, text]) =>
    wrap(text, WIDTH - left - 2).map((line, index) => `  ${(index === 0 ? name : "").padEnd(left)}${line}`),
  );
  return lines.join("\n");
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
