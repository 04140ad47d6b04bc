/** Completion script of fish. */

import { type Place, quote, valuesOf } from "./completion-places.ts";

/**
 * Function that tells the place of the cursor, as the scripts of the other shells do: the verb, or its first word. The functions of
 * fish itself only tell whether a word was typed somewhere.
 */
const placeFunctions = (pairs: readonly string[]): string => `function __gateway_at
  set -l typed (commandline -opc)
  set -l place ''
  if set -q typed[2]; and not string match -q -- '-*' $typed[2]
    set place $typed[2]
    switch "$typed[2] $typed[3]"
      case ${pairs.map(quote).join(" ")}
        set place "$typed[2] $typed[3]"
    end
  end
  test "$place" = "$argv[1]"
end
function __gateway_after
  set -l typed (commandline -opc)
  contains -- $typed[-1] $argv
end
function __gateway_two_dashes
  string match -q -- '--*' (commandline -ct) (commandline -opc)[-1]
end
function __gateway_first
  set -l typed (commandline -opc)
  test (count $typed) -eq 1
end`;

export function fish(all: readonly Place[]): string {
  const lines = all.flatMap(({ path, flags, words, after, takesFiles, names: kind }) => {
    const place = `__gateway_at ${quote(path)}`;
    const condition = quote(place);
    const first = path === "" ? "; and __gateway_first" : "";
    const notAfter = after.size === 0 ? "" : `; and not __gateway_after ${[...after.keys()].join(" ")}`;
    return [
      ...(takesFiles ? [`complete -c gateway -n ${condition} -F`] : []),
      ...(kind === undefined
        ? []
        : [`complete -c gateway -n ${condition} -a '(gateway completion -names ${kind} 2>/dev/null)'`]),
      ...words.map(({ word, meaning }) => {
        const about = meaning === "" ? "" : ` -d ${quote(meaning)}`;
        return `complete -c gateway -n ${quote(`${place}${first}${notAfter}`)} -a ${quote(word)}${about}`;
      }),
      ...[...after].map(
        ([word, next]) =>
          `complete -c gateway -n ${quote(`${place}; and __gateway_after ${word}`)} -a ${quote(next.join(" "))}`,
      ),
      ...Object.entries(flags).flatMap(([name, flag]) => {
        const value = valuesOf(flag);
        const takes = value === undefined ? "" : value === "file" ? " -r -F" : " -x";
        const choices = Array.isArray(value) ? ` -a ${quote(value.join(" "))}` : "";
        const rest = `${takes}${choices} -d ${quote(flag.meaning)}`;
        // After one dash fish would offer both forms of a flag, so the long form needs two dashes, also before its value.
        const isLong = quote(`${place}; and __gateway_two_dashes`);
        return [
          `complete -c gateway -n ${condition} -o ${name}${rest}`,
          `complete -c gateway -n ${isLong} -l ${name}${rest}`,
        ];
      }),
    ];
  });
  const pairs = all.filter(({ path }) => path.includes(" ")).map(({ path }) => path);
  return [
    "# fish completion of gateway; put it into ~/.config/fish/completions/gateway.fish.",
    placeFunctions(pairs),
    "complete -c gateway -f",
    ...lines,
    "",
  ].join("\n");
}
