/**
 * Custom commands: a key, the views where it works, and a program that receives fields of the row under the cursor. Field
 * values are foreign: each becomes part of a single argument, or a parameter of the shell.
 */

import { splitWords } from "../../base/index.ts";
import type { CustomCommand, KeyMap } from "../model/settings.ts";
import { freeChord, isTaken } from "./key-map.ts";
import type { Node, Reader } from "./settings-faults.ts";

const MAX_COMMANDS = 100;

export function commandsIn(
  node: Node,
  { reader, keys, views }: { readonly reader: Reader; readonly keys: KeyMap; readonly views: readonly string[] },
): readonly CustomCommand[] {
  const items = reader.items(node, "commands");
  if (items.length > MAX_COMMANDS) reader.fault(node, "there are too many commands", `write at most ${MAX_COMMANDS}`);
  const read = items.slice(0, MAX_COMMANDS).flatMap((item) => commandIn(item, reader, keys, views) ?? []);
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
    if (!views.includes(id)) reader.fault(fields["view"], `there is no view ${id}`, "use a view name that `:` accepts");
  if (reader.boolean(fields["shell"], "shell") === true)
    return { key: chord, name, views: scope, run: { kind: "shell", text: line } };
  const split = splitWords(line);
  if (split.kind === "unclosed") {
    reader.fault(
      fields["run"],
      `a quote ${split.quote} is not closed`,
      "close the quote; for pipes and variables set `shell: true`",
    );
    return undefined;
  }
  const { words: argv } = split;
  if (argv.length === 0 || argv[0]?.includes("{") === true)
    reader.fault(fields["run"], "run does not begin with the name of a program", "no field may be the program");
  return { key: chord, name, views: scope, run: { kind: "argv", argv } };
}
