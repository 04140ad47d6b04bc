/** One setting of a profile or budget in the text of a document, for a rehearsal of that change alone. */
import { isMap, isSeq, parseDocument } from "yaml";
import { clipArgument, UsageError } from "../parse-flags.ts";

/** Settings that `-set` can change, by section of the document and name. */
const SETTINGS: Readonly<Record<string, Readonly<Record<string, (text: string) => unknown>>>> = {
  profiles: {
    budget: (text) => (text === "" ? undefined : text),
    allowed_models: (text) => (text === "" ? undefined : text.split(",").map((it) => it.trim())),
  },
  budgets: {
    limit(text) {
      if (!/^\d{1,15}$/.test(text))
        throw new UsageError(`limit takes a number of units, found '${clipArgument(text)}'`);
      return Number(text);
    },
  },
};

/**
 * Returns the document with one setting of the entry `name` changed; an empty value removes the setting. `section`:
 * `profiles` or `budgets`. Throws `UsageError`.
 */
export function withSetting(document: string, section: string, name: string, setting: string): string {
  const equals = setting.indexOf("=");
  const key = equals < 0 ? setting : setting.slice(0, equals);
  const known = SETTINGS[section] ?? {};
  const read = known[key];
  if (equals < 0 || read === undefined) {
    const names = Object.keys(known).map((it) => `${it}=VALUE`);
    throw new UsageError(
      `-set takes ${names.join(" or ")} for an entry of ${section}, found '${clipArgument(setting)}'`,
    );
  }
  const value = read(setting.slice(equals + 1));
  const parsed = parseDocument(document);
  const entries = parsed.get(section);
  const entry = isSeq(entries) ? entries.items.find((it) => isMap(it) && it.get("name") === name) : undefined;
  if (!isMap(entry)) throw new UsageError(`the document has no entry '${clipArgument(name)}' in ${section}`);
  if (value === undefined) entry.delete(key);
  else entry.set(key, parsed.createNode(value));
  return parsed.toString({ lineWidth: 0 });
}
