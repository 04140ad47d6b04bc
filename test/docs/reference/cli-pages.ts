/**
 * Pages for the verbs of the command line, each with usage, flags and exit codes, and a page for the command without a
 * verb.
 */

import { formatDuration } from "../../../src/base/index.ts";
import { ENVIRONMENT, ENVIRONMENT_GROUPS } from "../../../src/cli/environment-variables.ts";
import { EXIT_STATUSES } from "../../../src/cli/exit-statuses.ts";
import type { Flag } from "../../../src/cli/parse-flags.ts";
import { DAEMON, GROUPS, VERBS, type Verb } from "../../../src/cli/verb-table.ts";
import { usage } from "../../../src/cli/verbs/help.ts";
import { code, fence, type Page, prose, sentence, table } from "./page.ts";

const ORDER = 3;

/** Columns of a usage line that fit beside a page's outline. */
const MAX_USAGE_WIDTH = 70;

const firstWord = (verb: Verb): string => verb.name.split(" ")[0] ?? "";

/** Returns a command line broken into several lines: that of the command without a verb has 200 characters. */
function wrappedUsage(verb: Verb): string {
  const words = usage(verb).match(/\[(?:[^[\]]|\[[^\]]*\])*\](?:\.\.\.)?|\S+/g) ?? [];
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length > MAX_USAGE_WIDTH)
      lines.push(last === undefined ? word : `  ${word}`);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((line, at) => (at < lines.length - 1 ? `${line} \\` : line)).join("\n");
}

function defaultOf(flag: Flag): string {
  if (flag.required === true) return "required";
  if (flag.defaultText !== undefined)
    return /^[A-Z_]+$/.test(flag.defaultText) ? code(flag.defaultText) : prose(flag.defaultText);
  if (flag.kind === "duration") return flag.default === undefined ? "" : code(formatDuration(flag.default));
  return "default" in flag && flag.default !== undefined ? code(String(flag.default)) : "";
}

/** Turns words that the help quotes, such as 'gateway keys find', into inline code. */
const quoted = (text: string): string => text.replace(/(?<![a-z])'([^']+)'(?![a-z])/g, "`$1`");

function flagTable({ flags }: Verb): string {
  const entries = Object.entries(flags);
  if (entries.length === 0) return "";
  const rows = entries.map(([name, flag]) => [
    code(flag.kind === "boolean" ? `-${name}` : `-${name} ${flag.value ?? "VALUE"}`),
    defaultOf(flag),
    `${sentence(quoted(flag.meaning))}${"choices" in flag && flag.choices !== undefined ? ` One of ${flag.choices.map(code).join(", ")}.` : ""}${flag.kind === "strings" && !flag.meaning.includes("repeated") ? " May be repeated." : ""}`,
  ]);
  return table(["Flag", "Default", "Description"], rows);
}

function verbText(verb: Verb): string {
  const where = "isInterleaved" in verb ? "Flags may come before and after the arguments." : "";
  const parts = [
    `## ${code(["gateway", verb.name].join(" ").trim())}`,
    `${sentence(verb.summary)} ${sentence(quoted(verb.description))}`,
    fence("text", wrappedUsage(verb)),
    flagTable(verb),
    Object.keys(verb.flags).length > 0 ? where : "",
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

const fileOf = (word: string): string => `cli/${word === "" ? "gateway" : word}.md`;

function verbPages(): readonly Page[] {
  const words = ["", ...new Set(VERBS.map(firstWord))];
  const groups = Object.keys(GROUPS);
  return words.map((word) => {
    const verbs: readonly Verb[] = word === "" ? [DAEMON] : VERBS.filter((verb) => firstWord(verb) === word);
    return {
      path: fileOf(word),
      title: `gateway ${word}`.trim(),
      // Pages of one group are sorted by title, so that a new verb changes no other page.
      order: word === "" ? 1 : 2 + groups.indexOf(verbs[0]?.group ?? ""),
      about: verbs.map(({ summary }) => sentence(summary)).join(" "),
      body: `${verbs.map(verbText).join("\n\n")}\n\nExit statuses are listed in the [overview](README.md#exit-statuses).`,
    };
  });
}

function overviewPage(): Page {
  const groups = Object.entries(GROUPS).map(([group, title]) => {
    const rows = VERBS.filter((verb) => verb.group === group).map((verb) => [
      `[${code(`gateway ${verb.name}`)}](${firstWord(verb)}.md#gateway-${verb.name.replaceAll(" ", "-")})`,
      sentence(verb.summary),
    ]);
    return `## ${title}\n\n${table(["Verb", "Description"], rows)}`;
  });
  const statuses = EXIT_STATUSES.map(({ status, gateway, verb }) => [status, prose(gateway), prose(verb)]);
  return {
    path: "cli/README.md",
    title: "Command line",
    order: ORDER,
    about: "Every verb with its flags, and the exit statuses.",
    body: [
      "The [bare command](gateway.md) runs the gateway. A verb does everything else. `gateway help VERB` prints the same as these pages.",
      "A flag has one dash or two, and its value follows after a blank or `=`. Flags come before arguments; the verbs that watch and change a running gateway take them anywhere. `-` is stdin or stdout. A verb writes its result to stdout and everything else to stderr.",
      ...groups,
      "## Exit statuses",
      table(["Status", "Of the gateway", "Of a verb"], statuses),
    ].join("\n\n"),
  };
}

export const cliPages = (): readonly Page[] => [overviewPage(), ...verbPages()];

export function environmentPage(): Page {
  const sections = Object.entries(ENVIRONMENT_GROUPS).map(([of, title]) => {
    const rows = ENVIRONMENT.filter((variable) => variable.of === of).map((variable) => [
      variable.name.split(", ").map(code).join(", "),
      /^[\w.]+$/.test(variable.default) ? code(variable.default) : prose(variable.default),
      prose(variable.meaning),
    ]);
    return `## ${title}\n\n${table(["Variable", "Default", "Description"], rows)}`;
  });
  return {
    path: "environment.md",
    title: "Environment variables",
    order: 4,
    about: "Every environment variable that a node or a verb reads.",
    body: `A change takes effect after a restart. \`gateway help environment\` prints the same.\n\n${sections.join("\n\n")}`,
  };
}
