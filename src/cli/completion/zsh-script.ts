/** Completion script of zsh. */

import { type Place, quote, valuesOf } from "./completion-places.ts";

export function zsh(all: readonly Place[]): string {
  // The shell would interpret these characters within the double quotes below.
  const plain = (text: string) => text.replace(/[`$"]/g, "").replace(/[[\]\\:]/g, "\\$&");
  const pairs = all.filter(({ path }) => path.includes(" ")).map(({ path }) => `    ${quote(path)}) depth=2 ;;`);
  const completionCases = all.map(({ path, flags, words, after, takesFiles, names: kind }) => {
    const specs = Object.entries(flags).map(([name, flag]) => {
      const value = valuesOf(flag);
      const about = `[${plain(flag.meaning)}]`;
      if (value === undefined) return quote(`-${name}${about}`);
      const action = value === "file" ? "_files" : value === "any" ? "" : `(${value.join(" ")})`;
      // The value follows in the next word, or after an equals sign.
      return quote(`${flag.kind === "strings" ? "*" : ""}-${name}=${about}:${flag.value ?? "VALUE"}:${action}`);
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
  # Flags may have two dashes.
  words=("\${words[@]/#--/-}")
  if [[ "$PREFIX" == --* ]]; then compset -P -; fi
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
# As a file of $fpath, the first call loads this text and has to complete too.
if [[ "\${funcstack[1]}" == "_gateway" ]]; then _gateway "$@"; else compdef _gateway gateway; fi
`;
}
