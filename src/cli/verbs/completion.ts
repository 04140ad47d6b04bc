/**
 * `gateway completion bash|zsh|fish`: a script for the shell, made from the table of verbs, that completes verbs,
 * their flags, the values of flags that have a choice, and file names where a flag or a verb takes one.
 *
 * Each script is a list of places of the command line, by the words typed so far; what differs between the shells is
 * only how a place is written.
 */

import { type Flag, type FlagsOf, type FlagTable, UsageError } from "../flags.ts";
import type { ExitStatus, Io } from "../io.ts";
import { noFlags } from "../specs.ts";
import { DAEMON, SHELLS, VERBS } from "../verb-table.ts";

export async function run(_: FlagsOf<typeof noFlags>, words: readonly string[], io: Io): Promise<ExitStatus> {
  const shell = SHELLS.find((name) => name === words[0]);
  if (shell === undefined) throw new UsageError(`no completion for '${words[0]}', only for ${SHELLS.join(", ")}`);
  io.stdout.write(SCRIPTS[shell](places()));
  return 0;
}

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], (all: readonly Place[]) => string>> = { bash, zsh, fish };

interface Place {
  /** The verb's words so far: none, a verb, or the first word of a verb of two. */
  readonly path: string;
  readonly flags: FlagTable;
  readonly words: readonly Word[];
  /** Whether names of files follow the flags. */
  readonly takesFiles: boolean;
}

interface Word {
  readonly word: string;
  readonly meaning: string;
}

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
      path: "",
      flags: DAEMON.flags,
      words: [...first].map(([word, meaning]) => ({ word, meaning })),
      takesFiles: false,
    },
    ...[...second].map(([path, words]) => ({ path, flags: noFlags, words, takesFiles: false })),
    ...VERBS.map(({ name, flags, positionals }) => ({
      path: name,
      flags,
      words: firstWords(positionals.words?.() ?? []).map((word) => ({ word, meaning: "" })),
      takesFiles: positionals.areFiles ?? false,
    })),
    // `help` takes the words of a verb as the command line does.
    ...[...second].map(([path, words]) => ({ path: `help ${path}`, flags: noFlags, words, takesFiles: false })),
  ];
}

/** Of names of one word or two, each once. */
function firstWords(names: readonly string[]): readonly string[] {
  return [...new Set(names.map((name) => name.split(" ")[0] ?? ""))];
}

/** What may be the value of a flag: one of some words, a file, or anything. Undefined for a flag that takes none. */
function valuesOf(flag: Flag): "file" | "any" | readonly string[] | undefined {
  if (flag.kind === "boolean") return undefined;
  if (flag.value === "PATH" || flag.value === "FILE") return "file";
  return flag.kind === "string" && flag.choices !== undefined ? flag.choices : "any";
}

/** Names of files may hold spaces, so there the answer is split at line ends alone. */
const BASH_FILES = `local IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$word"))`;

function bash(all: readonly Place[]): string {
  const pairs = all.filter(({ path }) => path.includes(" ")).map(({ path }) => `    ${quote(path)}) path=$pair ;;`);
  const values = all.flatMap(({ path, flags }) =>
    Object.entries(flags).flatMap(([name, flag]) => {
      const value = valuesOf(flag);
      if (value === undefined) return [];
      const spelled = quote(`${path} -${name}`);
      if (value === "file") {
        return [`    ${spelled}) ${BASH_FILES}; return ;;`];
      }
      const choices = quote(value === "any" ? "" : value.join(" "));
      return [`    ${spelled}) COMPREPLY=($(compgen -W ${choices} -- "$word")); return ;;`];
    }),
  );
  const offers = all.map(({ path, flags, words, takesFiles }) => {
    const names = [...Object.keys(flags), "help"].map((name) => `-${name}`);
    const offered = `flags=${quote(names.join(" "))} words=${quote(words.map(({ word }) => word).join(" "))}`;
    return `    ${quote(path)}) ${offered}${takesFiles ? " files=yes" : ""} ;;`;
  });
  return `# bash completion of gateway; source it.
_gateway() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path="" pair="" flags="" words="" files=""
  if (( COMP_CWORD > 1 )) && [[ "\${COMP_WORDS[1]}" != -* ]]; then path="\${COMP_WORDS[1]}"; fi
  if (( COMP_CWORD > 2 )); then pair="$path \${COMP_WORDS[2]}"; fi
  case "$pair" in
${[...pairs, "    *) ;;"].join("\n")}
  esac
  case "$path \${before/#--/-}" in
${values.join("\n")}
  esac
  case "$path" in
${offers.join("\n")}
  esac
  if [[ -n "$files" && "$word" != -* ]]; then ${BASH_FILES}; return; fi
  if [[ "$word" == -* || -z "$words" || ( -z "$path" && COMP_CWORD -gt 1 ) ]]; then words="$flags"; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _gateway gateway
`;
}

function zsh(all: readonly Place[]): string {
  const plain = (text: string) => text.replace(/[[\]\\:]/g, "\\$&");
  const pairs = all.filter(({ path }) => path.includes(" ")).map(({ path }) => `    ${quote(path)}) depth=2 ;;`);
  const offers = all.map(({ path, flags, words, takesFiles }) => {
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
    if (takesFiles) specs.push("'*:file:_files'");
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
${offers.join("\n")}
  esac
}
compdef _gateway gateway
`;
}

function fish(all: readonly Place[]): string {
  const lines = all.flatMap(({ path, flags, words, takesFiles }) => {
    const seen = path.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`);
    const condition = quote(path === "" ? "__fish_use_subcommand" : seen.join("; and "));
    return [
      ...(takesFiles ? [`complete -c gateway -n ${condition} -F`] : []),
      ...words.map(({ word, meaning }) => {
        const about = meaning === "" ? "" : ` -d ${quote(meaning)}`;
        return `complete -c gateway -n ${condition} -a ${quote(word)}${about}`;
      }),
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

/** In single quotes, as all three shells read them. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
