/**
 * `gateway completion bash|zsh|fish`: prints a script that completes verbs, flags, flag values with fixed choices,
 * methods and paths of the admin API, and file names. It is generated from the verb table.
 *
 * Each script is a list of places on the command line, identified by the words typed so far; the shells differ only in
 * the syntax of a place.
 */

import { OPERATIONS } from "../../admin-api/index.ts";
import { compiledCatalog } from "../../server/core/catalog/index.ts";
import { ALL_LISTS } from "../operate/printable-lists.ts";
import { CONDITION_NAMES } from "../operate/wait-conditions.ts";
import { type Flag, type FlagsOf, type FlagTable, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { type completionFlags, noFlags } from "../verb-flags.ts";
import { DAEMON, HELP_TOPICS, type NameKind, type Positionals, SCHEMAS, SHELLS, VERBS } from "../verb-table.ts";

export async function run(
  { names }: FlagsOf<typeof completionFlags>,
  words: readonly string[],
  io: Io,
): Promise<ExitStatus> {
  if (names !== undefined) return await (await import("../operate/completion-names.ts")).printNames(names, io);
  if (words.length === 0) throw new UsageError(`missing argument: ${SHELLS.join("|")}`);
  const shell = SHELLS.find((name) => name === words[0]);
  if (shell === undefined) throw new UsageError(`no completion for '${words[0]}', only for ${SHELLS.join(", ")}`);
  io.stdout.write(SCRIPTS[shell](places()));
  return 0;
}

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], (all: readonly Place[]) => string>> = { bash, zsh, fish };

interface Place {
  /** Words typed so far: none, a verb, or the first word of a two-word verb. */
  readonly path: string;
  readonly flags: FlagTable;
  readonly words: readonly Word[];
  /** Words that may follow one of `words`. */
  readonly after: ReadonlyMap<string, readonly string[]>;
  /** Whether file names may follow the flags. */
  readonly takesFiles: boolean;
  /** Kind of names that the running gateway is asked for. */
  readonly names?: NameKind | undefined;
}

interface Word {
  readonly word: string;
  readonly meaning: string;
}

const NONE: Pick<Place, "words" | "after" | "takesFiles"> = { words: [], after: new Map(), takesFiles: false };

function places(): readonly Place[] {
  const first = new Map<string, string>();
  const second = new Map<string, Word[]>();
  for (const { name, summary } of VERBS) {
    const [head = "", tail] = name.split(" ");
    const known = first.get(head);
    first.set(head, known === undefined ? summary : `${known}; ${summary}`);
    if (tail !== undefined) second.set(head, [...(second.get(head) ?? []), { word: tail, meaning: summary }]);
  }
  return [
    {
      ...NONE,
      path: "",
      flags: { ...DAEMON.flags, version: { kind: "boolean", meaning: "print build, commit, date and platform" } },
      words: [...first].map(([word, meaning]) => ({ word, meaning })),
    },
    ...[...second].map(([path, words]) => ({ ...NONE, path, flags: noFlags, words })),
    ...VERBS.map(({ name, flags, positionals }) => ({
      ...NONE,
      path: name,
      flags,
      ...suggestionsOf(positionals),
      takesFiles: positionals.areFiles ?? false,
      names: positionals.names,
    })),
    // After `help`, the words of a verb are completed as on the command line.
    ...[...second].map(([path, words]) => ({ ...NONE, path: `help ${path}`, flags: noFlags, words })),
  ];
}

function suggestionsOf({ suggestions: words }: Positionals): Pick<Place, "words" | "after"> {
  const plain = (all: readonly string[]) => ({ words: all.map((word) => ({ word, meaning: "" })), after: NONE.after });
  switch (words) {
    case undefined:
      return NONE;
    case "shells":
      return plain(SHELLS);
    case "schemas":
      return plain(SCHEMAS);
    case "verbs":
      return plain([...firstWords(VERBS.map(({ name }) => name)), ...HELP_TOPICS]);
    case "operations":
      return operationWords();
    case "lists":
      return plain(ALL_LISTS.map(({ table }) => table));
    case "conditions":
      return plain(CONDITION_NAMES);
    default:
      return words satisfies never;
  }
}

/** Returns the HTTP methods, the paths of each method, and the paths that can be read without typing GET. */
function operationWords(): Pick<Place, "words" | "after"> {
  const after = new Map<string, string[]>();
  const summaries = new Map<string, string>();
  for (const { method, path, help } of Object.values(OPERATIONS)) {
    const [typed = ""] = path.slice(1).split("{");
    const of = after.get(method) ?? [];
    after.set(method, of.includes(typed) ? of : [...of, typed]);
    if (method === "GET" && !summaries.has(typed)) summaries.set(typed, help);
  }
  const methods = [...after.keys()].sort().map((word) => ({ word, meaning: "" }));
  const reads = [...summaries].map(([word, meaning]) => ({ word, meaning }));
  return { words: [...methods, ...reads], after };
}

/** Returns the first words of names that have one word or two, each once. */
function firstWords(names: readonly string[]): readonly string[] {
  return [...new Set(names.map((name) => name.split(" ")[0] ?? ""))];
}

/** Returns the values of a flag: some words, a file, or anything; `undefined` for a flag that takes none. */
function valuesOf(flag: Flag): "file" | "any" | readonly string[] | undefined {
  if (flag.kind === "boolean") return undefined;
  if (flag.value === "PATH" || flag.value === "FILE") return "file";
  if (flag.suggestions === "presets") return [...compiledCatalog().keys()].sort();
  return flag.kind === "string" && flag.choices !== undefined ? flag.choices : "any";
}

/** Splits the completions at line ends only, since file names may contain spaces. */
const BASH_FILES = `local IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$word"))`;

function bash(all: readonly Place[]): string {
  const pairs = all.filter(({ path }) => path.includes(" ")).map(({ path }) => `    ${quote(path)}) path=$pair ;;`);
  const values = all.flatMap(({ path, flags, after }) => [
    ...Object.entries(flags).flatMap(([name, flag]) => {
      const value = valuesOf(flag);
      if (value === undefined) return [];
      const spelled = quote(`${path} -${name}`);
      if (value === "file") {
        return [`    ${spelled}) ${BASH_FILES}; return ;;`];
      }
      const choices = quote(value === "any" ? "" : value.join(" "));
      return [`    ${spelled}) COMPREPLY=($(compgen -W ${choices} -- "$word")); return ;;`];
    }),
    ...[...after].map(
      ([word, next]) => `    ${quote(`${path} ${word}`)}) words=${quote(next.join(" "))}; _gateway_offer; return ;;`,
    ),
  ]);
  const completionCases = all.map(({ path, flags, words, takesFiles, names: kind }) => {
    const names = [...Object.keys(flags), "help"].map((name) => `-${name}`);
    const offered = `flags=${quote(names.join(" "))} words=${quote(words.map(({ word }) => word).join(" "))}`;
    return `    ${quote(path)}) ${offered}${takesFiles ? " files=yes" : ""}${kind === undefined ? "" : ` names=${kind}`} ;;`;
  });
  return `# bash completion of gateway; source it.
_gateway() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path="" pair="" flags="" words="" files="" names=""
  if (( COMP_CWORD > 1 )) && [[ "\${COMP_WORDS[1]}" != -* ]]; then path="\${COMP_WORDS[1]}"; fi
  if (( COMP_CWORD > 2 )); then pair="$path \${COMP_WORDS[2]}"; fi
  case "$pair" in
${[...pairs, "    *) ;;"].join("\n")}
  esac
  case "$path \${before/#--/-}" in
${values.join("\n")}
  esac
  case "$path" in
${completionCases.join("\n")}
  esac
  if [[ -n "$files" && "$word" != -* ]]; then ${BASH_FILES}; return; fi
  if [[ -n "$names" && "$word" != -* ]]; then _gateway_names "$names" "$word"; return; fi
  if [[ "$word" == -* || -z "$words" || ( -z "$path" && COMP_CWORD -gt 1 ) ]]; then words="$flags"; fi
  _gateway_offer
}
_gateway_offer() {
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  # A word that ends in a slash goes on.
  if [[ "\${#COMPREPLY[@]}" == 1 && "\${COMPREPLY[0]}" == */ ]]; then compopt -o nospace 2>/dev/null; fi
}
# Names that the running gateway knows; readline takes what precedes a colon for a word of its own.
_gateway_names() {
  local typed="\${COMP_LINE:0:COMP_POINT}"; typed="\${typed##* }"
  if [[ -z "$COMP_LINE" ]]; then typed="$2"; fi
  COMPREPLY=($(compgen -W "$(gateway completion -names "$1" 2>/dev/null)" -- "$typed"))
  if [[ "$typed" == *:* && "$COMP_WORDBREAKS" == *:* ]]; then
    local before="\${typed%"\${typed##*:}"}"
    COMPREPLY=("\${COMPREPLY[@]#"$before"}")
  fi
}
complete -F _gateway gateway
`;
}

function zsh(all: readonly Place[]): string {
  // The shell would interpret these characters within the double quotes below.
  const plain = (text: string) => text.replace(/[`$"]/g, "").replace(/[[\]\\:]/g, "\\$&");
  const pairs = all.filter(({ path }) => path.includes(" ")).map(({ path }) => `    ${quote(path)}) depth=2 ;;`);
  const completionCases = all.map(({ path, flags, words, after, takesFiles, names: kind }) => {
    const specs = Object.entries(flags).map(([name, flag]) => {
      const value = valuesOf(flag);
      const about = `${flag.kind === "strings" ? "*" : ""}-${name}[${plain(flag.meaning)}]`;
      if (value === undefined) return quote(about);
      const action = value === "file" ? "_files" : value === "any" ? "" : `(${value.join(" ")})`;
      return quote(`${about}:${flag.value ?? "VALUE"}:${action}`);
    });
    if (words.length > 0) {
      const described = words.map(({ word, meaning }) => `${word}\\:${quote(plain(meaning))}`);
      specs.push(`"1:word:((${described.join(" ")}))"`);
    }
    if (after.size > 0) {
      const next = [...after].map(([word, each]) => {
        // A completion that ends in a slash can continue, so no space is added after it.
        const [open, whole] = [each.filter((it) => it.endsWith("/")), each.filter((it) => !it.endsWith("/"))];
        const listed = (flags: string, some: readonly string[]) =>
          some.length === 0 ? "" : ` compadd ${flags}-- ${some.map(quote).join(" ")};`;
        return `${word})${listed("", whole)}${listed("-S '' ", open)};`;
      });
      specs.push(`"2:path:{case \\$words[CURRENT-1] in ${next.join(" ")} esac}"`);
    }
    if (takesFiles) specs.push("'*:file:_files'");
    if (kind !== undefined) {
      specs.push(`'*:name:{compadd -- \${(f)"$(gateway completion -names ${kind} 2>/dev/null)"}}'`);
    }
    return `    ${quote(path)}) _arguments ${["'-help[print the help]'", ...specs].join(" ")} ;;`;
  });
  return `#compdef gateway
# zsh completion of gateway; put it as _gateway into a folder of $fpath.
_gateway() {
  local depth=0
  if (( CURRENT > 2 )) && [[ "$words[2]" != -* ]]; then depth=1; fi
  if (( CURRENT > 3 )); then case "$words[2] $words[3]" in
${[...pairs, "    *) ;;"].join("\n")}
  esac; fi
  local place="\${(j: :)words[2,depth+1]}"
  (( depth > 0 )) && shift $depth words
  (( CURRENT -= depth ))
  case "$place" in
${completionCases.join("\n")}
  esac
}
compdef _gateway gateway
`;
}

function fish(all: readonly Place[]): string {
  const lines = all.flatMap(({ path, flags, words, after, takesFiles, names: kind }) => {
    const seen = path.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`);
    const condition = quote(path === "" ? "__fish_use_subcommand" : seen.join("; and "));
    return [
      ...(takesFiles ? [`complete -c gateway -n ${condition} -F`] : []),
      ...(kind === undefined
        ? []
        : [`complete -c gateway -n ${condition} -a '(gateway completion -names ${kind} 2>/dev/null)'`]),
      ...words.map(({ word, meaning }) => {
        const about = meaning === "" ? "" : ` -d ${quote(meaning)}`;
        return `complete -c gateway -n ${condition} -a ${quote(word)}${about}`;
      }),
      ...[...after].map(
        ([word, next]) =>
          `complete -c gateway -n ${quote(`${seen.join("; and ")}; and __fish_seen_subcommand_from ${word}`)} -a ${quote(next.join(" "))}`,
      ),
      ...Object.entries(flags).map(([name, flag]) => {
        const value = valuesOf(flag);
        const takes = value === undefined ? "" : value === "file" ? " -r -F" : " -x";
        const choices = Array.isArray(value) ? ` -a ${quote(value.join(" "))}` : "";
        return `complete -c gateway -n ${condition} -o ${name}${takes}${choices} -d ${quote(flag.meaning)}`;
      }),
    ];
  });
  return [
    "# fish completion of gateway; put it into ~/.config/fish/completions/gateway.fish.",
    "complete -c gateway -f",
    ...lines,
    "",
  ].join("\n");
}

/** Puts the text in single quotes, which all three shells support. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
