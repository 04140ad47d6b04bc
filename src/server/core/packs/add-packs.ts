/**
 * Adds packs to a deployment document: all of them or none, and nothing existing changes. The result is data, for display or
 * confirmation. Whether it can be served is decided by compiling it.
 *
 * Source: specification document 1, `gateway pack`; design decisions, section 16.
 */

import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";
import { formatProblem, parseTree, type Source } from "../config/index.ts";
import { ancestorsOf, type BaseOf, detectorsOf } from "./check-pack.ts";
import { type Appending, append } from "./insert-entries.ts";
import { neededBy } from "./pack-needs.ts";
import {
  controlsOf,
  differing,
  findNamed,
  isValues,
  LIST_NAMES,
  LISTS,
  type ListName,
  type Named,
  namedIn,
  type Values,
} from "./pack-objects.ts";
import type { Pack, PackObject } from "./read-pack.ts";

export interface AddedObject {
  readonly pack: string;
  readonly list: ListName;
  readonly name: string;
  /** `present`: it existed with all its controls. `controls`: it existed and was given `controls`. */
  readonly change: "added" | "present" | "controls";
  /** Controls that were added; for a new object, all of its controls. */
  readonly controls: readonly string[];
}

export type Adding =
  | {
      readonly kind: "added";
      /** Document text including the packs; unchanged if everything was present. */
      readonly text: string;
      /** Added objects in the order of the packs. */
      readonly objects: readonly AddedObject[];
    }
  /** Problems, one line of text each. */
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/** Adds checked packs in the given order. `source.text` may be empty. */
export function addPacks(source: Source, packs: readonly Pack[], baseOf: BaseOf): Adding {
  const parsed = parseTree(source);
  if (parsed.problems.length > 0) return refused(parsed.problems.map(formatProblem));
  const document: unknown = parsed.isEmpty ? {} : parse(source.text, READING);
  if (!isValues(document)) return refused([`${source.name}: the document is not a map of keys to values`]);
  const objects: AddedObject[] = [];
  let text = source.text;
  let value: Values = document;
  for (const pack of packs) {
    const plan = planOf(pack, value, source.name, baseOf);
    if (plan.problems.length > 0) return refused(plan.problems);
    const next = withPlan(text, value, plan);
    if (next === undefined) return refused([cannotHold(source, pack)]);
    ({ text, value } = next);
    objects.push(...plan.objects);
  }
  return { kind: "added", text, objects };
}

/** Parser options that keep references as written. */
const READING = { uniqueKeys: false, logLevel: "silent" } as const;

const refused = (problems: readonly string[]): Adding => ({ kind: "refused", problems });

const cannotHold = ({ name }: Source, { id }: Pack): string =>
  `${name}: \`${id}\` cannot be added without changing existing lines; write \`guardrails\` and \`access_rules\` as blocks with one key or dash per line`;

interface Plan {
  readonly problems: readonly string[];
  readonly objects: readonly AddedObject[];
  readonly added: readonly PackObject[];
  readonly attached: readonly Attached[];
}

/** Controls that are added to an existing entry of the document. */
interface Attached {
  readonly list: ListName;
  readonly at: number;
  readonly controls: readonly string[];
}

function planOf(pack: Pack, document: Values, file: string, baseOf: BaseOf): Plan {
  const there = namedIn(document);
  const problems: string[] = ancestorsOf(pack, baseOf).flatMap((base) => baseProblems(pack, base, there, file));
  if (problems.length > 0) return { problems, objects: [], added: [], attached: [] };
  const objects: AddedObject[] = [];
  const added: PackObject[] = [];
  const attached: Attached[] = [];
  const attach = (id: string, entry: Named, wanted: readonly string[]): void => {
    const had = new Set(controlsOf(entry.value));
    const controls = wanted.filter((control) => !had.has(control));
    const { list, name, at } = entry;
    objects.push({ pack: id, list, name, change: controls.length === 0 ? "present" : "controls", controls });
    if (controls.length > 0) attached.push({ list, at, controls });
  };
  for (const object of pack.objects) {
    const { list, name, value } = object;
    const found = findNamed(there, list, name);
    if (found === undefined) {
      const twin = twinOf(object, there);
      if (twin !== undefined) problems.push(renamed(file, pack, name, twin.name));
      added.push(object);
      objects.push({ pack: pack.id, list, name, change: "added", controls: controlsOf(value) });
      continue;
    }
    const fields = differing(list, value, found.value);
    if (fields.length === 0) attach(pack.id, found, controlsOf(value));
    else problems.push(conflict(file, object, pack.id, fields));
  }
  for (const { pack: base, rule, controls } of pack.attaches) {
    const entry = (["guardrail rule", "access rule"] as const).flatMap((list) =>
      findNamed(baseOf(base)?.objects ?? [], list, rule) === undefined ? [] : (findNamed(there, list, rule) ?? []),
    )[0];
    if (entry !== undefined) attach(pack.id, entry, controls);
  }
  const detectors = new Set([...there, ...added].filter(({ list }) => list === "detector").map(({ name }) => name));
  for (const { list, name, value } of pack.objects) {
    for (const detector of detectorsOf(value).filter((it) => !detectors.has(it))) {
      problems.push(
        `${file}: the ${list} \`${name}\` of \`${pack.id}\` requires the detector \`${detector}\`, which the document does not contain under this name`,
      );
    }
  }
  problems.push(...added.flatMap((object) => neededBy(object, document, { file, pack: pack.id })));
  return { problems: [...new Set(problems)], objects, added, attached };
}

/** Returns a detector with the same settings and another name. Running it twice would cost twice and find nothing more. */
const twinOf = ({ list, value }: Named, there: readonly Named[]): Named | undefined =>
  list === "detector"
    ? there.find((it) => it.list === list && differing(list, value, it.value).length === 0)
    : undefined;

const renamed = (file: string, { id }: Pack, name: string, other: string): string =>
  `${file}: the document calls the detector \`${name}\` of \`${id}\` \`${other}\`; the rules of the pack use its name, so name it \`${name}\` there too`;

const conflict = (file: string, { list, name }: Named, id: string, fields: readonly string[]): string =>
  `${file}: the document has another ${list} \`${name}\` than \`${id}\`, different in ${fields.map((field) => `\`${field}\``).join(", ")}; rename it, or make it the same`;

/**
 * Returns the problems of a base pack in the document. A base must be complete, since packs that build on it claim that its
 * rules serve more controls.
 */
function baseProblems(pack: Pack, base: Pack, there: readonly Named[], file: string): readonly string[] {
  return base.objects.flatMap((object): readonly string[] => {
    const { list, name, value } = object;
    const found = findNamed(there, list, name);
    if (found === undefined) {
      const twin = twinOf(object, there);
      if (twin !== undefined) return [renamed(file, base, name, twin.name)];
      return [
        `${file}: \`${pack.id}\` builds on \`${base.id}\`, of which the document has no ${list} \`${name}\`: add \`${base.id}\` first, or name it before \`${pack.id}\``,
      ];
    }
    const fields = differing(list, value, found.value);
    return fields.length === 0 ? [] : [conflict(file, object, base.id, fields)];
  });
}

/** Adds the plan to the text. Returns `undefined` if the resulting text does not parse to the expected document. */
function withPlan(
  text: string,
  value: Values,
  { added, attached }: Plan,
): { readonly text: string; readonly value: Values } | undefined {
  const expected = structuredClone(value) as Record<string, unknown>;
  const inRules = attached.map(({ list, at, controls }): Appending => {
    const path = [...LISTS[list], at, "controls"];
    pushTo(expected, path, controls);
    return { path, entries: controls.map((control) => ({ value: control, text: `${JSON.stringify(control)}\n` })) };
  });
  const inLists = LIST_NAMES.flatMap((list): readonly Appending[] => {
    const entries = added.filter((object) => object.list === list);
    if (entries.length === 0) return [];
    pushTo(
      expected,
      LISTS[list],
      entries.map((object) => structuredClone(object.value)),
    );
    return [{ path: LISTS[list], entries }];
  });
  // Lists are appended to one by one: two of them may need the same missing parent, which the first creates.
  let result: string | undefined = inRules.length === 0 ? text : append(text, inRules);
  for (const one of inLists) result = result === undefined ? undefined : append(result, [one]);
  if (result === undefined) return undefined;
  const read = parseTree({ name: "", text: result });
  if (read.problems.length > 0) return undefined;
  const found: unknown = read.isEmpty ? {} : parse(result, READING);
  return isDeepStrictEqual(found, expected) ? { text: result, value: expected } : undefined;
}

/** Appends items and creates missing maps and lists on the path. Obstacles are found when the text is parsed again. */
function pushTo(root: Record<string, unknown>, path: readonly (string | number)[], items: readonly unknown[]): void {
  let at: unknown = root;
  for (const [depth, key] of path.entries()) {
    if (typeof at !== "object" || at === null) return;
    const inner: Record<string | number, unknown> = at as Record<string | number, unknown>;
    if (inner[key] === undefined) inner[key] = depth === path.length - 1 ? [] : {};
    at = inner[key];
  }
  if (Array.isArray(at)) at.push(...items);
}
