/**
 * What `:` offers while it is typed: views by any part of their names, with what they are about where that was looked at
 * before or can be told. Best match first, and among equals what was looked at last.
 */

import type { PromptState, State } from "../model/state.ts";
import type { Place, View } from "../model/view.ts";
import { type Command, commandOfText, OWN, viewNamed } from "./command.ts";
import { contextOf, placeKey } from "./seen.ts";

export interface Candidate {
  /** As `:` takes it. */
  readonly text: string;
  readonly about: string;
  /** Whether something may still be typed after it. */
  readonly isOpen: boolean;
  readonly command: Command;
}

interface Rank {
  /** 0: it is the name; 1: its start; 2: a part of it; 3: its letters in their order. */
  readonly match: number;
  readonly hasSubject: boolean;
  /** Places looked at since; more than any where it never was. */
  readonly age: number;
}

/** Subjects that are looked through; a console shows a few. */
const MOST_SUBJECTS = 10_000;
const NEVER = Number.MAX_SAFE_INTEGER;

export function candidatesOf(state: State, views: readonly View[], text: string): readonly Candidate[] {
  const [, name = "", blank = "", rest = ""] = /^\s*(\S*)(\s*)(.*)$/s.exec(text) ?? [];
  const found = blank === "" || name === "" ? named(state, views, name) : about(state, views, name, rest);
  return found
    .sort(
      ([, a], [, b]) => a.match - b.match || Number(a.hasSubject) - Number(b.hasSubject) || Math.sign(a.age - b.age),
    )
    .map(([candidate]) => candidate);
}

/** Index of the one that Enter takes; undefined: what is typed is taken as it stands. */
export function highlighted({ edit, chosen }: PromptState, candidates: readonly Candidate[]): number | undefined {
  if (candidates.length === 0) return undefined;
  if (chosen !== undefined) return Math.min(chosen, candidates.length - 1);
  return /^\s*\S+$/.test(edit.text) ? 0 : undefined;
}

type Ranked = [Candidate, Rank];

function named({ recent, place }: State, views: readonly View[], name: string): Ranked[] {
  const ageOf = (of: Place): number => {
    const at = recent.findIndex((one) => placeKey(one) === placeKey(of));
    return at === -1 || placeKey(of) === placeKey(place) ? NEVER : at;
  };
  const ofViews = views.flatMap((view): Ranked[] => {
    const match = matchOf(name, [view.id, ...view.aliases]);
    const age = ageOf({ view: view.id });
    return match === undefined ? [] : [[toView(view, { view: view.id }), { match, hasSubject: false, age }]];
  });
  const ofPlaces = recent.flatMap((one): Ranked[] => {
    const view = views.find(({ id }) => id === one.view);
    if (view === undefined || one.subject === undefined || placeKey(one) === placeKey(place)) return [];
    const match = matchOf(name, [...[view.id, ...view.aliases].map((it) => `${it} ${one.subject}`), one.subject]);
    if (match === undefined) return [];
    // While nothing is typed what was looked at last is first, whatever it is.
    return [[toView(view, one), { match, hasSubject: name !== "", age: ageOf(one) }]];
  });
  const own = OWN.flatMap(({ names, about: says, command }): Ranked[] => {
    const match = matchOf(name, names);
    // What leaves is not found by a slip of the fingers.
    if (match === undefined || match > 1) return [];
    const candidate = { text: names[0], about: says, isOpen: false, command };
    return [[candidate, { match, hasSubject: match > 0, age: NEVER }]];
  });
  return [...ofViews, ...ofPlaces, ...own];
}

/** What a view may be about, once its name is there. */
function about(state: State, views: readonly View[], name: string, rest: string): Ranked[] {
  if (OWN.some(({ names, command }) => command.kind === "context" && names.some((one) => one === name))) {
    return state.contexts.flatMap((context, age): Ranked[] => {
      const match = matchOf(rest.trim(), [context.name]);
      const candidate: Candidate = {
        text: `context ${context.name}`,
        about: context.about,
        isOpen: false,
        command: { kind: "context", name: context.name },
      };
      return match === undefined ? [] : [[candidate, { match, hasSubject: true, age }]];
    });
  }
  const view = viewNamed(name, views);
  if (typeof view === "string" || /(?:^|\s)\//.test(rest)) return [];
  const before = state.recent.flatMap(({ view: id, subject }) => (id === view.id ? (subject ?? []) : []));
  const known = view.subjects?.(contextOf(state)) ?? [];
  const subjects = [...new Set([...before, ...known.slice(0, MOST_SUBJECTS)])];
  return subjects.flatMap((subject, age): Ranked[] => {
    const match = matchOf(rest.trim(), [subject]);
    if (match === undefined) return [];
    return [[toView(view, { view: view.id, subject }), { match, hasSubject: true, age }]];
  });
}

const toView = ({ id, about: says, subject }: View, place: Place): Candidate => ({
  text: place.subject === undefined ? id : `${id} ${place.subject}`,
  about: says,
  isOpen: subject !== undefined && place.subject === undefined,
  command: { kind: "go", place, filter: undefined },
});

/** The best of the names; undefined: none has these letters in this order. */
function matchOf(typed: string, names: readonly string[]): number | undefined {
  const wanted = typed.toLowerCase();
  if (wanted === "") return 1;
  const matches = names.flatMap((name) => matchOfOne(wanted, name.toLowerCase()) ?? []);
  return matches.length === 0 ? undefined : Math.min(...matches);
}

function matchOfOne(wanted: string, name: string): number | undefined {
  if (name === wanted) return 0;
  if (name.startsWith(wanted)) return 1;
  if (name.includes(wanted)) return 2;
  let from = 0;
  for (const character of wanted) {
    const at = name.indexOf(character, from);
    if (at === -1) return undefined;
    from = at + character.length;
  }
  return 3;
}

/** What Enter does with what is typed. */
export function commandOf(state: State, prompt: PromptState, views: readonly View[]): Command {
  const { text } = prompt.edit;
  const candidates = candidatesOf(state, views, text);
  const at = highlighted(prompt, candidates);
  return (at === undefined ? undefined : candidates[at]?.command) ?? commandOfText(text, views);
}
