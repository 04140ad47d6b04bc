/** Finds the verb that the words of a command line name. */
import { clipArgument, didYouMean, UsageError } from "./parse-flags.ts";
import { DAEMON, ENTRIES, type Entry, VERBS } from "./verb-table.ts";
import { VERBS_OF_OTHER_TOOLS } from "./verbs-of-other-tools.ts";

/** Returns the verb that the first words name, and the remaining arguments. Throws `UsageError` if there is none. */
export function findVerb(args: readonly string[]): { readonly verb: Entry; readonly rest: readonly string[] } {
  const [first, second] = args;
  // Users expect `-version` in every program. The bare command would treat it as a flag of the daemon.
  if (first === "-version" || first === "--version") return findVerb(["version", ...args.slice(1)]);
  if (first === undefined || first.startsWith("-")) return { verb: DAEMON, rest: args };
  const twoWords = `${first} ${second}`;
  for (const verb of ENTRIES) {
    if (verb.name === twoWords) return { verb, rest: args.slice(2) };
    if (verb.name === first) return { verb, rest: args.slice(1) };
  }
  for (const words of [twoWords, first]) {
    const equivalent = Object.hasOwn(VERBS_OF_OTHER_TOOLS, words) ? VERBS_OF_OTHER_TOOLS[words] : undefined;
    if (equivalent !== undefined) throw new UsageError(`there is no verb '${clipArgument(words)}': ${equivalent}`);
  }
  const secondWords = groupWords(first);
  if (secondWords.length > 0) {
    const hint = second === undefined ? "" : didYouMean(second, secondWords);
    throw new UsageError(`'${clipArgument(first)}' is followed by one of ${secondWords.join(", ")}${hint}`);
  }
  if (/\.(?:ya?ml|json)$|\//.test(first)) {
    throw new UsageError(`'${clipArgument(first)}' is not a verb; 'gateway -config FILE' runs a node file`);
  }
  const names = VERBS.flatMap(({ name }) => [name, name.replace(/ .*/, "")]);
  throw new UsageError(`unknown verb '${clipArgument(first)}'${didYouMean(first, names)}`);
}

/** Returns the second words of the verbs that begin with this word: `mint`, `rotate` and so on for `keys`. */
function groupWords(first: string): readonly string[] {
  return VERBS.flatMap(({ name }) => (name.startsWith(`${first} `) ? [name.slice(first.length + 1)] : []));
}

/** Returns whether the word only begins verbs of two words, and is not a verb itself. */
export function isGroupWord(first: string): boolean {
  return groupWords(first).length > 0 && !VERBS.some(({ name }) => name === first);
}
