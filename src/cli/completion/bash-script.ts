/** Completion script of bash. */

import { type Place, quote, valuesOf } from "./completion-places.ts";

/** Splits the completions at line ends only, since file names may contain spaces. */
const BASH_FILES = `local IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$word"))`;

export function bash(all: readonly Place[]): string {
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
  # readline takes the equals sign of -flag=value for a word of its own.
  if [[ "$word" == "=" ]]; then word=""; elif [[ "$before" == "=" ]]; then before="\${COMP_WORDS[COMP_CWORD-2]}"; fi
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
  if [[ "$word" == --* ]]; then words="-\${words// -/ --}"; fi
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
