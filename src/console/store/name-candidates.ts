/**
 * Candidates of the `:` prompt: views by any part of their names, with known subjects; verbs followed by the names of rows; and
 * rows by their names. Best match first, then the most recently visited.
 */

import { namesText } from "../format/name-list.ts";
import { VERBS } from "../model/key-bindings.ts";
import type { PromptState, State } from "../model/state.ts";
import type { Place, View } from "../model/view.ts";
import { namedRows, namedVerbs } from "./command-palette.ts";
import { contextOf, placeKey } from "./current-view.ts";
import { matchOf } from "./match-name.ts";
import { type Command, clipped, commandOfText, OWN, viewNamed } from "./parse-command.ts";

interface Candidate {
  /** Command as typed after `:`. */
  readonly text: string;
  readonly about: string;
  /** Whether an argument may follow. */
  readonly isOpen: boolean;
  readonly command: Command;
}

interface Rank {
  /** Rank of the match: 0 for the whole name, 1 for its start, 2 for a part of it, 3 for its letters in order. */
  readonly match: number;
  readonly hasSubject: boolean;
  /** Position in the recently visited places; larger than any if it was never visited. */
  readonly age: number;
}

/** Maximum number of subjects that are searched; a console shows a few. */
const MAX_SUBJECTS = 10_000;
const NEVER = Number.MAX_SAFE_INTEGER;

export function candidatesOf(state: State, views: readonly View[], text: string): readonly Candidate[] {
  const [, name = "", blank = "", rest = ""] = /^\s*(\S*)(\s*)(.*)$/s.exec(text) ?? [];
  const found = blank === "" || name === "" ? exactMatches(state, views, name) : about(state, views, name, rest);
  return found
    .sort(
      ([, a], [, b]) => a.match - b.match || Number(a.hasSubject) - Number(b.hasSubject) || Math.sign(a.age - b.age),
    )
    .map(([candidate]) => candidate);
}

/** Returns the index of the candidate that Enter takes; `undefined` if the typed text is used as it is. */
export function highlighted({ edit, chosen }: PromptState, candidates: readonly Candidate[]): number | undefined {
  if (candidates.length === 0) return undefined;
  if (chosen !== undefined) return Math.min(chosen, candidates.length - 1);
  return /^\s*\S+$/.test(edit.text) ? 0 : undefined;
}

type Ranked = [Candidate, Rank];

function exactMatches(state: State, views: readonly View[], name: string): Ranked[] {
  const { recent, place } = state;
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
    // While nothing is typed, the most recently visited place is first, with or without a subject.
    return [[toView(view, one), { match, hasSubject: name !== "", age: ageOf(one) }]];
  });
  const own = OWN.flatMap(({ names, about: says, command }): Ranked[] => {
    const match = matchOf(name, names);
    // Only the start of a name matches, so that a typing error does not find a command such as quit.
    if (match === undefined || match > 1) return [];
    const candidate = { text: names[0], about: says, isOpen: false, command };
    return [[candidate, { match, hasSubject: match > 0, age: NEVER }]];
  });
  return [...ofViews, ...ofPlaces, ...own, ...ofVerbs(state, views, name), ...ofRows(state, views, name)];
}

/** Finds verbs by the start of their words. */
function ofVerbs(state: State, views: readonly View[], name: string): Ranked[] {
  if (name === "") return [];
  const found = new Map<string, Ranked>();
  // Verbs that act on a row come first; they then ask for its name.
  const verbs = namedVerbs(state, views);
  const ofNames = verbs.filter(({ offer }) => offer.needsRow);
  for (const { word, verb, offer, view } of [...ofNames, ...verbs]) {
    const match = matchOf(name, [word]);
    if (match === undefined || match > 1 || found.has(word)) continue;
    const command: Command = offer.needsRow
      ? { kind: "wrong", message: `${word}: type a name after it` }
      : { kind: "verb", verb, place: { view: view.id } };
    const candidate = { text: word, about: VERBS[verb].help, isOpen: offer.needsRow, command };
    found.set(word, [candidate, { match, hasSubject: true, age: NEVER }]);
  }
  return [...found.values()];
}

/** Finds rows by their names. */
function ofRows(state: State, views: readonly View[], name: string): Ranked[] {
  return namedRows(state, views, name).map(({ view, kind, name: of, row, match }) => {
    const command = { kind: "go", place: { view: view.id }, filter: undefined, row } as const;
    return [
      { text: of, about: kind, isOpen: false, command },
      { match, hasSubject: true, age: NEVER },
    ];
  });
}

/** Finds subjects of a view whose name is already typed. */
function about(state: State, views: readonly View[], name: string, rest: string): Ranked[] {
  if (OWN.some(({ names, command }) => command.kind === "context" && names.some((one) => one === name))) {
    return state.contexts.flatMap((context, age): Ranked[] => {
      const match = matchOf(rest.trim(), [context.name]);
      const candidate: Candidate = {
        text: `context ${context.name}`,
        about: context.address,
        isOpen: false,
        command: { kind: "context", name: context.name },
      };
      return match === undefined ? [] : [[candidate, { match, hasSubject: true, age }]];
    });
  }
  const view = viewNamed(name, views);
  if (typeof view === "string") return ofVerb(state, views, name, rest);
  if (/(?:^|\s)\//.test(rest)) return [];
  const before = state.recent.flatMap(({ view: id, subject }) => (id === view.id ? (subject ?? []) : []));
  const known = view.subjects?.(contextOf(state)) ?? [];
  const subjects = [...new Set([...before, ...known.slice(0, MAX_SUBJECTS)])];
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

/** Returns the command that Enter runs. */
export function commandOf(state: State, prompt: PromptState, views: readonly View[]): Command {
  const { text } = prompt.edit;
  const candidates = candidatesOf(state, views, text);
  const at = highlighted(prompt, candidates);
  const taken = at === undefined ? undefined : candidates[at]?.command;
  return taken ?? verbCommand(state, views, text) ?? commandOfText(text, views);
}

/** Finds the rows that the name after a verb may mean, and the verb alone if it needs none. */
function ofVerb(state: State, views: readonly View[], word: string, rest: string): Ranked[] {
  const verbs = namedVerbs(state, views).filter((it) => it.word === word && it.offer.needsRow);
  const rows = verbs.length === 0 ? [] : namedRows(state, views, rest.trim());
  return rows.flatMap((row, age): Ranked[] => {
    const verb = verbs.find(({ view }) => view === row.view);
    if (verb === undefined) return [];
    const command = { kind: "verb", verb: verb.verb, place: { view: row.view.id }, row: row.row } as const;
    const candidate = { text: `${word} ${row.kind}:${row.name}`, about: row.kind, isOpen: false, command };
    return [[candidate, { match: row.match, hasSubject: true, age }]];
  });
}

/**
 * Resolves `suspend acme-chat` to the only row of that name, or explains why there is none. Returns `undefined` if the text
 * does not begin with a verb.
 */
function verbCommand(state: State, views: readonly View[], text: string): Command | undefined {
  const [, word = "", name = ""] = /^\s*(\S+)\s*(.*?)\s*$/s.exec(text) ?? [];
  const verbs = namedVerbs(state, views).filter((it) => it.word === word);
  const [first] = verbs;
  if (first === undefined || typeof viewNamed(word, views) !== "string") return undefined;
  if (name === "") {
    const alone = verbs.every(({ offer }) => !offer.needsRow) ? verbs : [];
    const [only] = alone;
    if (only !== undefined && alone.length === 1)
      return { kind: "verb", verb: only.verb, place: { view: only.view.id } };
    return { kind: "wrong", message: `${word}: type a name after it` };
  }
  const found = ofVerb(state, views, word, name);
  const exact = found.filter(([, { match }]) => match === 0);
  const [only, second] = exact.length > 0 ? exact : found;
  if (only !== undefined && second === undefined) return only[0].command;
  const kinds = namesText([...new Set(verbs.flatMap(({ view }) => view.rows ?? []))], MAX_KINDS);
  return {
    kind: "wrong",
    message:
      only === undefined
        ? `${word}: no ${kinds} is named ${clipped(name)}`
        : `${word}: ${clipped(name)} may be several; Up and Down choose`,
  };
}

const MAX_KINDS = 8;
