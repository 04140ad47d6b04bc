/**
 * Help texts, generated from the verb table. `meow` only lays out the text; it does not parse the arguments, since it
 * reads `-config` as six short flags.
 */

import meow from "meow";
import { formatDuration } from "../../base/index.ts";
import { ENVIRONMENT, ENVIRONMENT_GROUPS } from "../environment-variables.ts";
import { EXIT_STATUSES } from "../exit-statuses.ts";
import { findVerb } from "../find-verb.ts";
import { clipArgument, type Flag, type FlagsOf, type FlagTable, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import type { noFlags } from "../verb-flags.ts";
import { DAEMON, GROUPS, HELP_TOPICS, VERBS, type Verb } from "../verb-table.ts";

/** Width of the help in columns, as wide as the usual terminal. */
const WIDTH = 80;

export async function run(_: FlagsOf<typeof noFlags>, commandPath: readonly string[], io: Io): Promise<ExitStatus> {
  const topic = commandPath.length === 1 ? HELP_TOPICS.find((name) => name === commandPath[0]) : undefined;
  if (topic !== undefined) {
    io.stdout.write(TOPICS[topic]());
    return 0;
  }
  const group = groupOf(commandPath);
  if (group.length > 0) {
    io.stdout.write(group.length <= FEW_VERBS ? group.map(helpOf).join("\n") : groupHelp(group));
    return 0;
  }
  const { verb, rest } = findVerb(commandPath);
  if (rest.length > 0) throw new UsageError(`unknown verb '${clipArgument(commandPath.join(" "))}'`);
  return printHelp(verb, io);
}

/** Help texts for topics other than verbs. */
const TOPICS: Readonly<Record<(typeof HELP_TOPICS)[number], () => string>> = {
  environment: environmentHelp,
  "exit-status": exitStatusHelp,
};

function environmentHelp(): string {
  const sections = Object.entries(ENVIRONMENT_GROUPS).map(([of, title]) => {
    const members = ENVIRONMENT.filter((variable) => variable.of === of);
    const texts = members.map((variable) => {
      const fallback = variable.default === "" ? "" : ` (default ${plain(variable.default)})`;
      const text = wrap(`${plain(variable.meaning)}${fallback}`, WIDTH - 4).map((line) => `    ${line}`);
      return [`  ${variable.name}`, ...text].join("\n");
    });
    return `${title}:\n${texts.join("\n")}`;
  });
  return formatHelp("Environment variables that the program reads.", sections);
}

function exitStatusHelp(): string {
  const of = (key: "gateway" | "verb"): string => {
    const rows = EXIT_STATUSES.filter((rule) => rule[key] !== "");
    return columns(rows.map((rule) => [rule.status, plain(rule[key])]));
  };
  return formatHelp("Exit statuses of the program.", [
    `The gateway itself:\n${of("gateway")}`,
    `A verb:\n${of("verb")}`,
  ]);
}

/** Returns the text as a terminal shows it, without the backquotes around identifiers. */
const plain = (text: string): string => text.replaceAll("`", "'");

/** Returns the two-word verbs that begin with this word. */
function groupOf([first, ...more]: readonly string[]): readonly Verb[] {
  return more.length > 0 ? [] : VERBS.filter(({ name }) => name.startsWith(`${first} `));
}

/** Maximum number of verbs of a group whose whole helps are printed. More do not fit a screen. */
const FEW_VERBS = 2;

/** Lists the verbs of a group. */
function groupHelp(group: readonly Verb[]): string {
  const [{ name } = { name: "" }] = group;
  const [word = ""] = name.split(" ");
  return formatHelp(`Verbs that begin with '${word}'.`, [
    `Usage: gateway ${word} VERB [FLAGS] [ARGUMENTS]`,
    `Verbs:\n${columns(group.map((verb) => [verb.name, verb.summary]))}`,
    `Run 'gateway help ${name}' for the flags of one.`,
  ]);
}

/** Prints the help on stdout, since the user asked for it. */
export function printHelp(verb: Verb, io: Io): ExitStatus {
  io.stdout.write(verb === DAEMON ? overview() : helpOf(verb));
  return 0;
}

export function overview(): string {
  return formatHelp(DAEMON.description, [
    "Usage: gateway [FLAGS]\n       gateway VERB [FLAGS] [ARGUMENTS]\n       gateway --version",
    ...verbsByGroup(),
    `Flags of the bare command:\n${flagLines(DAEMON.flags)}`,
    [
      "Run 'gateway help VERB' for the flags of a verb, 'gateway help environment' for",
      "environment variables, and 'gateway help exit-status' for exit statuses.",
    ].join("\n"),
  ]);
}

/** Returns a section per group. The summaries of all groups are aligned. */
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
  return formatHelp(description, sections);
}

/** Returns a usage line such as `gateway check -config PATH [-timeout DURATION] [-offline]`. */
export function usage({ name, flags, positionals }: Verb): string {
  const parts = Object.entries(flags).map(([flagName, flag]) => {
    const spelled = flagSyntax(flagName, flag);
    if (flag.required) return spelled;
    return flag.kind === "strings" ? `[${spelled}]...` : `[${spelled}]`;
  });
  return ["gateway", name, ...parts, positionals.usage].filter((part) => part !== "").join(" ");
}

function formatHelp(description: string, sections: readonly string[]): string {
  const { help } = meow({
    importMeta: import.meta,
    argv: [],
    // Set explicitly, since otherwise meow looks for a package.json in the parent directories of the bundle. It also
    // becomes the process title.
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
  return columns(Object.entries(flags).map(([name, flag]) => [flagSyntax(name, flag), explain(flag)]));
}

function flagSyntax(name: string, flag: Flag): string {
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
