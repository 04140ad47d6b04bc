/**
 * Custom commands and reassigned keys. The console asks before it runs a command, and shows every argument as it will be. A
 * value of a row becomes part of an argument or a parameter of the shell, and is never interpreted otherwise.
 */

import { escapeControls } from "../../base/index.ts";
import { quoted } from "../format/command-line.ts";
import { chordText } from "../format/keys-text.ts";
import type { Dialog } from "../model/dialog.ts";
import type { Chord } from "../model/key-event.ts";
import type { CustomCommand, KeyMap } from "../model/settings.ts";
import type { State, Step } from "../model/state.ts";
import { line } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { listingOf, viewOf } from "./current-view.ts";
import { withFlash } from "./flash.ts";
import { openDialog } from "./step-dialog.ts";
import { stateOnly } from "./step-helpers.ts";

/** Returns the standard chord for the pressed one; `undefined` if it no longer has an effect. */
export function standardChord({ ownOf, freed }: KeyMap, pressed: Chord): Chord | undefined {
  return ownOf.get(pressed) ?? (freed.has(pressed) ? undefined : pressed);
}

/** Returns the keys of a hint or of the help as the operator has to press them. */
export function shownKeys({ shown, freed }: KeyMap, keys: string): string {
  if (freed.size === 0) return keys;
  const names = new Map([...shown].map(([own, pressed]) => [chordText(own), chordText(pressed)]));
  const navigateTo = new Set([...freed].map(chordText));
  return keys
    .split(" ")
    .flatMap((key) => names.get(key) ?? (navigateTo.has(key) ? [] : key))
    .join(" ");
}

export const commandsHere = (state: State, views: readonly View[]): readonly CustomCommand[] =>
  state.commands.filter(({ views: scope }) => scope?.includes(viewOf(state, views).id) ?? true);

/** Handles the key of a custom command. Returns `undefined` if no custom command has the key. */
export function stepCommand(state: State, chord: Chord, views: readonly View[]): Step | undefined {
  const command = commandsHere(state, views).find(({ key }) => key === chord);
  if (command === undefined) return undefined;
  if (state.isReadOnly) return stateOnly(withFlash(state, "read-only: commands do not run", "warn"));
  const filled = fillTemplate(command, rowOf(state, views));
  if (filled.kind === "refused") return stateOnly(withFlash(state, `${command.name}: ${filled.reason}`, "warn"));
  return stateOnly(openDialog(state, confirmationOf(command, filled.argv)));
}

/** Returns the row under the cursor as `J` shows it; a row merged from several nodes is a list of records. */
function rowOf(state: State, views: readonly View[]): unknown {
  const listing = listingOf(state, views);
  const at = listing?.order[listing.cursor];
  return at === undefined ? undefined : listing?.table.jsonOf(at);
}

/** Returns the records that make up the row. */
function recordsOf(row: unknown): readonly Readonly<Record<string, unknown>>[] {
  return (Array.isArray(row) ? row : [row]).filter((one) => typeof one === "object" && one !== null);
}

type FilledTemplate =
  | { readonly kind: "argv"; readonly argv: readonly string[] }
  | { readonly kind: "refused"; readonly reason: string };

const FIELD = /\{([a-z_][a-z0-9_]*)\}/g;
/** Maximum length of a value, in UTF-16 units. */
const MAX_VALUE = 4_096;

/**
 * Fills the fields of the command with values of the row. A row of several nodes provides a value only if its records agree on
 * it.
 */
export function fillTemplate({ run }: CustomCommand, row: unknown): FilledTemplate {
  const template = run.kind === "argv" ? run.argv.join(" ") : run.text;
  const values = new Map<string, string>();
  const records = recordsOf(row);
  for (const [, field = ""] of template.matchAll(FIELD)) {
    if (records.length === 0) return { kind: "refused", reason: "no row is selected" };
    const found = new Set(records.map((record) => (Object.hasOwn(record, field) ? record[field] : undefined)));
    const [value] = found;
    if (found.size > 1 && [...found].every((one) => typeof one !== "object"))
      return {
        kind: "refused",
        reason: `the nodes report different values of {${field}}; use a field that is the same on all (J shows them)`,
      };
    if (value === undefined || value === null || typeof value === "object")
      return { kind: "refused", reason: `the row has no value for {${field}}; J shows its fields` };
    const text = String(value);
    if (text.includes("\0") || text.length > MAX_VALUE)
      return { kind: "refused", reason: `the value of {${field}} cannot be an argument` };
    values.set(field, text);
  }
  return run.kind === "argv" ? fillWords(run.argv, values) : fillShell(run.text, values);
}

function fillWords(texts: readonly string[], values: ReadonlyMap<string, string>): FilledTemplate {
  const argv = texts.map((word) => word.replace(FIELD, (_, field: string) => values.get(field) ?? ""));
  const ended = texts.indexOf("--");
  const option = texts.findIndex(
    (word, at) => word.startsWith("{") && argv[at]?.startsWith("-") === true && (ended === -1 || at < ended),
  );
  if (option >= 0)
    return {
      kind: "refused",
      reason: `${escapeControls(argv[option] ?? "")} would be read as an option; write -- before ${texts[option]}`,
    };
  return { kind: "argv", argv };
}

/**
 * Replaces fields with shell parameters, respecting the quotes around them; the text that the shell reads contains none of
 * their values.
 */
function fillShell(text: string, values: ReadonlyMap<string, string>): FilledTemplate {
  const names = [...values.keys()];
  let script = "";
  let quote = "";
  for (let at = 0; at < text.length; at += 1) {
    const [whole, field = ""] = /^\{([a-z_][a-z0-9_]*)\}/.exec(text.slice(at)) ?? [];
    const character = text[at] ?? "";
    if (whole !== undefined && values.has(field)) {
      const parameter = `\${${names.indexOf(field) + 1}}`;
      script += quote === '"' ? parameter : quote === "'" ? `'"${parameter}"'` : `"${parameter}"`;
      at += whole.length - 1;
      continue;
    }
    if (character === "\\" && quote !== "'") {
      script += character + (text[at + 1] ?? "");
      at += 1;
      continue;
    }
    if (quote === "" && (character === "'" || character === '"')) quote = character;
    else if (character === quote) quote = "";
    script += character;
  }
  const option = names.find((name) => values.get(name)?.startsWith("-") === true);
  if (option !== undefined && !/(^|\s)--\s/.test(text))
    return {
      kind: "refused",
      reason: `{${option}} begins with a dash and would be read as an option; write -- before it`,
    };
  return { kind: "argv", argv: ["/bin/sh", "-c", script, "sh", ...names.map((name) => values.get(name) ?? "")] };
}

const confirmationOf = ({ name }: CustomCommand, argv: readonly string[]): Dialog => ({
  title: `Run locally: ${escapeControls(name)}`,
  isLocal: true,
  fields: [],
  lines: () => [
    ...argv.map((argument, at) => [at === 0 ? "Program" : "", line(escapeControls(quoted(argument)))] as const),
    ["Note", line("without input, for at most a minute; the output is shown when it ends", "dim")],
  ],
  confirm: { kind: "yes", button: "run" },
  task: () => ({ kind: "job", job: { kind: "run_command", name, argv } }),
});
