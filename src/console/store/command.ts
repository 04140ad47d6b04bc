/**
 * The language of `:`: a view by its id, an alias or what is the start of only one view's; then what it is about, then
 * `/` and a filter. `:errors acme-chat`, `:prov /acme`, `:keys /^prod/`. Beside views there are `q`, `log` and `help`.
 */

import { nearest } from "../../base/index.ts";
import { namesInWords } from "../format/names.ts";
import type { Place, View } from "../model/view.ts";

export type Command =
  | { readonly kind: "nothing" }
  | { readonly kind: "quit" }
  | { readonly kind: "log" }
  | { readonly kind: "help" }
  | { readonly kind: "go"; readonly place: Place; readonly filter: string | undefined }
  | { readonly kind: "wrong"; readonly words: string };

const OWN = { q: "quit", quit: "quit", log: "log", help: "help" } as const;
/** UTF-16 units of what a view is about. */
const MAX_SUBJECT_LENGTH = 256;
const MOST_NAMED = 6;

export function commandOfText(text: string, views: readonly View[]): Command {
  const [, name = "", rest = ""] = /^\s*(\S*)\s*(.*?)\s*$/s.exec(text) ?? [];
  if (name === "") return { kind: "nothing" };
  if (Object.hasOwn(OWN, name)) return { kind: OWN[name as keyof typeof OWN] };
  const view = viewNamed(name, views);
  return typeof view === "string" ? { kind: "wrong", words: view } : goTo(view, rest);
}

function goTo(view: View, rest: string): Command {
  const [, subject = "", slashed] = /^(.*?)(?:(?:^|\s+)(\/.*))?$/s.exec(rest) ?? [];
  const filter = slashed === undefined ? undefined : isPattern(slashed) ? slashed : slashed.slice(1);
  if (subject === "") return { kind: "go", place: { view: view.id }, filter };
  if (view.subject === undefined) {
    return { kind: "wrong", words: `${view.id} takes nothing after its name but / and a filter` };
  }
  return { kind: "go", place: { view: view.id, subject: subject.slice(0, MAX_SUBJECT_LENGTH) }, filter };
}

const isPattern = (text: string): boolean => text.length > 2 && text.endsWith("/");

const namesOf = ({ id, aliases }: View): readonly string[] => [id, ...aliases];

/** Words for the operator where it is none, or not only one. */
function viewNamed(name: string, views: readonly View[]): View | string {
  const exact = views.find((view) => namesOf(view).includes(name));
  if (exact !== undefined) return exact;
  const begun = views.filter((view) => namesOf(view).some((one) => one.startsWith(name)));
  const [first] = begun;
  if (first !== undefined && begun.length === 1) return first;
  if (first !== undefined)
    return `${name} may be ${namesInWords(
      begun.map(({ id }) => id),
      MOST_NAMED,
    )}`;
  const meant = nearest(name, [...views.flatMap(namesOf), ...Object.keys(OWN)]);
  return `there is no view ${clipped(name)}${meant === undefined ? "; ? lists them" : `; did you mean ${meant}?`}`;
}

const clipped = (name: string): string => (name.length <= 40 ? name : `${name.slice(0, 40)}...`);

export interface Completion {
  /** What the name becomes. */
  readonly name: string;
  readonly about: string;
}

/** Names that begin as the first word does; none once it has been left. */
export function completionsOf(text: string, views: readonly View[]): readonly Completion[] {
  const begun = text.trimStart();
  if (/\s/.test(begun)) return [];
  const ofViews = views.flatMap((view) => {
    const names = namesOf(view).filter((name) => name.startsWith(begun));
    return names.slice(0, 1).map((name) => ({ name, about: view.about }));
  });
  const own = [
    { name: "help", about: "keys of this view" },
    { name: "log", about: "what happened" },
    { name: "quit", about: "leave the console" },
  ].filter(({ name }) => name.startsWith(begun));
  return [...ofViews, ...own];
}

/** The text after Tab, or what it may become. */
export function completed(text: string, views: readonly View[]): { readonly text: string; readonly words?: string } {
  const found = completionsOf(text, views).map(({ name }) => name);
  const [first] = found;
  if (first === undefined) return { text };
  if (found.length === 1) return { text: `${first} ` };
  const common = found.reduce((a, b) => a.slice(0, commonLength(a, b)));
  return common.length > text.trimStart().length ? { text: common } : { text, words: namesInWords(found, MOST_NAMED) };
}

function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}
