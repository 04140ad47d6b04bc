/**
 * Custom commands: a key, the views where it works, and a program that receives fields of the row under the cursor. Field
 * values are foreign: each becomes part of a single argument, or a parameter of the shell.
 */

import type { CustomCommand, KeyMap } from "../model/settings.ts";
import { freeChord, isTaken } from "./key-map.ts";
import type { Node, Reader } from "./settings-faults.ts";

const MOST_COMMANDS = 100;

export function commandsIn(
  node: Node,
  { reader, keys, views }: { readonly reader: Reader; readonly keys: KeyMap; readonly views: readonly string[] },
): readonly CustomCommand[] {
  const items = reader.items(node, "commands");
  if (items.length > MOST_COMMANDS) reader.fault(node, "there are too many commands", `write at most ${MOST_COMMANDS}`);
  const read = items.slice(0, MOST_COMMANDS).flatMap((item) => commandIn(item, reader, keys, views) ?? []);
  for (const [at, { key, views: scope }] of read.entries()) {
    const other = read.findIndex((one, index) => index < at && one.key === key && overlap(one.views, scope));
    if (other >= 0)
      reader.fault(
        items[at],
        `two commands have the key ${key} in one view`,
        "assign another key or view to one of them",
      );
  }
  return read;
}

const overlap = (a: readonly string[] | undefined, b: readonly string[] | undefined): boolean =>
  a === undefined || b === undefined || a.some((id) => b.includes(id));

function commandIn(item: Node, reader: Reader, keys: KeyMap, views: readonly string[]): CustomCommand | undefined {
  const fields = reader.fields(item, ["key", "name", "view", "run", "shell"], "a command");
  const key = reader.text(fields["key"], "key");
  const name = reader.text(fields["name"], "name");
  const line = reader.text(fields["run"], "run");
  if (key === undefined || name === undefined || line === undefined) {
    reader.fault(
      item,
      "a command lacks key, name or run",
      "write all three: `key: ctrl-g`, `name: open the log`, `run: less log`",
    );
    return undefined;
  }
  const chord = freeChord(fields["key"], key, reader);
  if (chord === undefined) return undefined;
  if (isTaken(chord, keys))
    reader.fault(
      fields["key"],
      `${chord} already has an action`,
      "choose a free key, such as ctrl-g, or assign another key to that action under keys",
    );
  const view = reader.text(fields["view"], "view");
  const scope = view?.split(/[\s,]+/).filter((id) => id !== "");
  for (const id of scope ?? [])
    if (!views.includes(id)) reader.fault(fields["view"], `there is no view ${id}`, "name views as `:` takes them");
  if (reader.boolean(fields["shell"], "shell") === true)
    return { key: chord, name, views: scope, run: { kind: "shell", text: line } };
  const words = wordsOf(line);
  if (typeof words === "string") {
    reader.fault(fields["run"], words, "close the quote; for pipes and variables set `shell: true`");
    return undefined;
  }
  if (words.length === 0 || words[0]?.includes("{") === true)
    reader.fault(fields["run"], "run does not begin with the name of a program", "no field may be the program");
  return { key: chord, name, views: scope, run: { kind: "words", words } };
}

/** Splits a line into words like a shell, supporting only quotes and backslashes; returns an error text if it is invalid. */
export function wordsOf(line: string): readonly string[] | string {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? "";
    if (character === "\\" && quote !== "'" && at + 1 < line.length) {
      at += 1;
      word = (word ?? "") + (line[at] ?? "");
    } else if (quote !== "") {
      if (character === quote) quote = "";
      else word = (word ?? "") + character;
    } else if (character === "'" || character === '"') {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (quote !== "") return `a quote ${quote} is not closed`;
  return word === undefined ? words : [...words, word];
}
