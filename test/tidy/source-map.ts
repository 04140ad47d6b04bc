/**
 * The source map of docs/contributing/architecture.md: a line for each folder of `src/` and its direct subfolders, from
 * the head of the folder's `index.ts`. The first sentence of the head describes the folder; a line ``- `name/`: text``
 * describes a subfolder.
 */

import { posix } from "node:path";
import { filesUnder, read } from "./source.ts";
import { MAY_IMPORT } from "./table.ts";

/** Heads of folders without an index, which nothing imports. */
const HEADS: Readonly<Record<string, string>> = {
  "src/cli": `
The command line: launcher of the verbs, flags and help as data, and what verbs share.

- \`check/\`: checks of \`gateway check\` that ask servers
- \`completion/\`: completion scripts of the shells
- \`console-trials/\`: trials that the console runs in a child process
- \`dev/\`: \`gateway dev\`: the gateway in front of the simulated provider
- \`guardrail-eval/\`: evaluation of guardrails by marked cases
- \`import/\`: configurations of other gateways as deployment documents
- \`models/\`: models of a document, from the cache or fetched
- \`operate/\`: verbs that change a running gateway
- \`packs/\`: control packs: add, list, test
- \`rule-suite/\`: suites of rule tests
- \`sign-in/\`: sign-in at an identity provider, and its token
- \`verbs/\`: a file for each verb
`,
};

interface FolderLine {
  readonly folder: string;
  readonly text: string;
}

/** Returns the comment at the beginning of a file; empty without one. */
function headOf(path: string): string {
  const [, comment = ""] = /^\/\*\*([\s\S]*?)\*\//.exec(read(path)) ?? [];
  return comment.replace(/^[ \t]*\*? ?/gm, "");
}

/** Splits a head into its first sentence and its lines about folders. */
function parse(head: string): { readonly sentence: string; readonly folders: ReadonlyMap<string, string> } {
  const paragraphs = head.trim().split(/\n\s*\n/);
  const [first = ""] = paragraphs;
  const [sentence = ""] = /^[\s\S]*?\.(?=\s|$)/.exec(first) ?? [];
  const items = paragraphs
    .filter((it) => it.startsWith("- `"))
    .flatMap((list) => list.split(/\n(?=- )/))
    .flatMap((item) => {
      const [, name = "", text = ""] = /^- `([^`]+)\/`: ([\s\S]+)$/.exec(item) ?? [];
      return name === "" ? [] : [[name, oneLine(text)] as const];
    });
  return { sentence: oneLine(sentence), folders: new Map(items) };
}

const oneLine = (text: string): string => text.trim().replace(/\s+/g, " ").replace(/\.$/, "");

/** Returns the lines of all folders, each with its direct subfolders, and the problems that prevent a line. */
export function sourceMap(): { readonly lines: readonly FolderLine[]; readonly problems: readonly string[] } {
  const files = filesUnder("src");
  const folders = new Set(files.map((path) => posix.dirname(path)));
  const units = Object.keys(MAY_IMPORT).map((unit) => `src/${unit}`);
  const lines: FolderLine[] = [];
  const problems: string[] = [];
  for (const unit of units.sort()) {
    const index = `${unit}/index.ts`;
    const head = HEADS[unit] ?? (files.includes(index) ? headOf(index) : "");
    const { sentence, folders: found } = parse(head);
    if (sentence === "") problems.push(`${index} begins with no sentence that says what ${unit} is for`);
    lines.push({ folder: unit, text: sentence });
    const within = [...folders].filter((folder) => posix.dirname(folder) === unit && !units.includes(folder));
    for (const folder of within.sort()) {
      const text = found.get(posix.basename(folder));
      if (text === undefined) problems.push(`the head of ${index} has no line for ${folder}`);
      else lines.push({ folder, text });
    }
    for (const name of found.keys()) {
      if (!within.includes(`${unit}/${name}`))
        problems.push(`the head of ${index} has a line for ${name}/, which does not exist`);
    }
  }
  return { lines, problems };
}

/** Returns the map as a table in Markdown. */
export function tableOf(lines: readonly FolderLine[]): string {
  const rows = lines.map(({ folder, text }) => `| \`${folder}/\` | ${text.charAt(0).toUpperCase()}${text.slice(1)} |`);
  return ["| Folder | What is in it |", "|---|---|", ...rows].join("\n");
}
