/**
 * Command language of `:`: a view by its id, an alias or an unambiguous prefix, then its subject, then `/` and a filter.
 * Examples: `:errors acme-chat`, `:prov /acme`, `:keys /^prod/`. Besides views there are commands such as `q`, `log` and
 * `help`.
 */

import { closestName } from "../../base/index.ts";
import { namesText } from "../format/name-list.ts";
import type { VerbId } from "../model/key-bindings.ts";
import type { Place, View } from "../model/view.ts";

export type Command =
  | { readonly kind: "nothing" }
  | { readonly kind: "quit" }
  | { readonly kind: "log" }
  | { readonly kind: "help" }
  /** Switches to the named gateway; without a name, lists the gateways. */
  | { readonly kind: "context"; readonly name: string }
  | { readonly kind: "go"; readonly place: Place; readonly filter: string | undefined; readonly row?: string }
  /** Starts a verb of a view, on a row if the verb needs one. */
  | { readonly kind: "verb"; readonly verb: VerbId; readonly place: Place; readonly row?: string }
  | { readonly kind: "wrong"; readonly message: string };

/** Commands besides the views; the first name is the one that is offered. */
export const OWN = [
  { names: ["help"], about: "keys of this view", command: { kind: "help" } },
  { names: ["context", "ctx"], about: "switch to another gateway, by name", command: { kind: "context", name: "" } },
  { names: ["log"], about: "messages of this console", command: { kind: "log" } },
  { names: ["quit", "q"], about: "leave the console", command: { kind: "quit" } },
] as const;
/** Maximum length of a subject, in UTF-16 units. */
const MAX_SUBJECT_LENGTH = 256;
const MAX_NAMED = 6;

export function commandOfText(text: string, views: readonly View[]): Command {
  const [, name = "", rest = ""] = /^\s*(\S*)\s*(.*?)\s*$/s.exec(text) ?? [];
  if (name === "") return { kind: "nothing" };
  const own = OWN.find(({ names }) => names.some((one) => one === name));
  if (own?.command.kind === "context") return { kind: "context", name: rest };
  if (own !== undefined) return own.command;
  const view = viewNamed(name, views);
  return typeof view === "string" ? { kind: "wrong", message: view } : commandToView(view, rest);
}

function commandToView(view: View, rest: string): Command {
  const [, subject = "", slashed] = (view.takesPaths === true ? PATHS_AND_FILTER : SUBJECT_AND_FILTER).exec(rest) ?? [];
  const filter = slashed === undefined ? undefined : isPattern(slashed) ? slashed : slashed.slice(1);
  if (subject === "") return { kind: "go", place: { view: view.id }, filter };
  if (view.subject === undefined) {
    return { kind: "wrong", message: `${view.id} takes only a filter after its name (/text)` };
  }
  return { kind: "go", place: { view: view.id, subject: subject.slice(0, MAX_SUBJECT_LENGTH) }, filter };
}

const SUBJECT_AND_FILTER = /^(.*?)(?:(?:^|\s+)(\/.*))?$/s;
/** Subject and filter. A text with a further slash inside is an absolute path and not a filter. */
const PATHS_AND_FILTER = /^(.*?)(?:(?:^|\s+)(\/(?!\S*[^/\s]\/[^/\s]).*))?$/s;

const isPattern = (text: string): boolean => text.length > 2 && text.endsWith("/");

const namesOf = ({ id, aliases }: View): readonly string[] => [id, ...aliases];

/** Returns the view, or an error text if none or several match. */
export function viewNamed(name: string, views: readonly View[]): View | string {
  const exact = views.find((view) => namesOf(view).includes(name));
  if (exact !== undefined) return exact;
  const matching = views.filter((view) => namesOf(view).some((one) => one.startsWith(name)));
  const [first] = matching;
  if (first !== undefined && matching.length === 1) return first;
  if (first !== undefined)
    return `${name} may be ${namesText(
      matching.map(({ id }) => id),
      MAX_NAMED,
    )}`;
  const meant = closestName(name, [...views.flatMap(namesOf), ...OWN.flatMap(({ names }) => names)]);
  return `there is no view ${clipped(name)}${meant === undefined ? "; ? lists them" : `; did you mean ${meant}?`}`;
}

export const clipped = (name: string): string => (name.length <= 40 ? name : `${name.slice(0, 40)}...`);
