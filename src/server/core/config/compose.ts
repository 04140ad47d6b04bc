/**
 * Composes the deployment from several sources, each a deployment document. Spec: document 1, Configuration documents and
 * sources: sources must not overlap; a name in two of them is refused, not merged.
 *
 * Lists of named objects are concatenated in the order of the sources' names, so that every node composes the same document.
 * Every other section belongs to one source. The composed document is read as one, so a profile of one source may name a budget
 * of another; each problem names the source and the path in it. `version` belongs to each source and is not part of the
 * deployment.
 */

import { type Deployment, deploymentSchema, editionSchema, NAMED_LISTS, type NamedList } from "./deployment/index.ts";
import { DEPLOYMENT_RULES } from "./documents.ts";
import { formatPath, type Path, type Problem, shown } from "./problem.ts";
import { type Read, type ReadOptions, readParsed } from "./read-document.ts";
import { isOwnVariable, type References } from "./references/value-references.ts";
import {
  type Entry,
  MAX_DOCUMENT_BYTES,
  MAX_VALUES,
  type Parsed,
  parseTree,
  type Source,
  type Tree,
} from "./yaml/located-tree.ts";
import { numbersAsTexts } from "./yaml/scalar-texts.ts";

export interface ComposedDeployment extends Read<Deployment> {
  /** `version` by source name, of sources that have one. */
  readonly versions: ReadonlyMap<string, number>;
}

/** Maximum number of sources. Their total size has the same limit as one document. */
export const MAX_SOURCES = 64;

type MapTree = Extract<Tree, { kind: "map" }>;

/** Source with its document, or the part of it at the path that is being composed. Offsets are shifted by `base`. */
interface Part {
  readonly source: Source;
  readonly parsed: Parsed;
  readonly base: number;
  readonly tree: MapTree;
}

/** Composed list. `starts` is the index of the first entry of each source. */
interface Composed {
  readonly path: Path;
  readonly starts: readonly number[];
}

interface Composing {
  readonly problems: Problem[];
  readonly lists: Composed[];
}

export function composeDeployment(sources: readonly Source[], references: References): ComposedDeployment {
  const ordered = sources.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const composing: Composing = { problems: [], lists: [] };
  const versions = new Map<string, number>();
  const parts: Part[] = [];
  let base = 0;
  let values = 0;
  const rulesOf = (sourceAt: (offset: number) => Source | undefined): ReadOptions<Deployment> => ({
    ...DEPLOYMENT_RULES,
    isWithheld: (name, at) => sourceAt(at)?.isFromApi === true && isOwnVariable(name, references),
  });
  for (const [at, source] of ordered.entries()) {
    const refusal = refusalOf(ordered, at, base);
    const parsed = refusal === undefined ? parseTree(source) : undefined;
    values += parsed?.values ?? 0;
    const overflow = values > MAX_VALUES ? `the sources together contain more than ${MAX_VALUES} values` : undefined;
    const message = refusal ?? overflow;
    if (message !== undefined || parsed === undefined) {
      composing.problems.push(problemOf({ file: source.name, line: 1, column: 1 }, [], message ?? ""));
      break;
    }
    if (parsed.tree?.kind === "map") {
      composing.problems.push(...parsed.problems);
      const version = versionOf(parsed, parsed.tree, references, composing);
      if (version !== undefined) versions.set(source.name, version);
      parts.push({ source, parsed, base, tree: documentOf(parsed.tree, base) });
    } else {
      composing.problems.push(
        ...readParsed(
          deploymentSchema,
          parsed,
          references,
          rulesOf(() => source),
        ).problems,
      );
    }
    base += source.text.length + 1;
  }

  const tree = merge(parts, [], composing);
  const partAt = (offset: number) => parts.findLast((it) => it.base <= offset);
  const whole: Parsed = {
    tree,
    isEmpty: false,
    values,
    problems: composing.problems,
    files: ordered.map(({ name }) => name),
    placeOf: (offset) => {
      const part = partAt(offset);
      return part?.parsed.placeOf(offset - part.base) ?? { file: "deployment", line: 1, column: 1 };
    },
    writtenPath: (path) => writtenPath(path, composing.lists),
  };
  const rules = rulesOf((offset) => partAt(offset)?.source);
  return { ...readParsed(deploymentSchema, whole, references, rules), versions };
}

function refusalOf(ordered: readonly Source[], at: number, lengthBefore: number): string | undefined {
  const { name, text } = ordered[at] as Source;
  if (at >= MAX_SOURCES) return `a deployment is composed of at most ${MAX_SOURCES} sources`;
  if (ordered[at - 1]?.name === name) return "two sources have this name";
  return lengthBefore + text.length > MAX_DOCUMENT_BYTES ? "the sources together are longer than 4 MiB" : undefined;
}

const problemOf = (
  place: { readonly file: string; readonly line: number; readonly column: number },
  path: Path,
  message: string,
): Problem => ({ severity: "error", ...place, path: formatPath(path), message });

function versionOf(parsed: Parsed, tree: MapTree, references: References, { problems }: Composing): number | undefined {
  const version = tree.entries.get("version");
  if (version === undefined) return undefined;
  const alone: Parsed = { ...parsed, problems: [], tree: { ...tree, entries: new Map([["version", version]]) } };
  const read = readParsed(editionSchema, alone, references, { fileAllowed: true });
  problems.push(...read.problems);
  return read.document?.version;
}

/** Returns the part of the source that belongs to the deployment. */
function documentOf(tree: MapTree, base: number): MapTree {
  const read = moved(numbersAsTexts(deploymentSchema.json, tree), base) as MapTree;
  return { ...read, entries: new Map([...read.entries].filter(([key]) => key !== "version")) };
}

function moved(tree: Tree, by: number): Tree {
  const at = tree.at + by;
  if (tree.kind === "list") return { ...tree, at, items: tree.items.map((item) => moved(item, by)) };
  if (tree.kind !== "map") return { ...tree, at };
  const entries = [...tree.entries].map(
    ([key, entry]) => [key, { keyAt: entry.keyAt + by, value: moved(entry.value, by) }] as const,
  );
  return { ...tree, at, entries: new Map(entries) };
}

function merge(parts: readonly Part[], path: Path, composing: Composing): MapTree {
  const entries = new Map<string, Entry>();
  for (const key of new Set(parts.flatMap(({ tree }) => [...tree.entries.keys()]))) {
    const here = [...path, key];
    const holders = parts.flatMap((part) => {
      const entry = part.tree.entries.get(key);
      return entry === undefined ? [] : [{ part, entry }];
    });
    const [first, ...others] = holders;
    if (first === undefined) continue;
    entries.set(key, others.length === 0 ? first.entry : mergeEntry(holders, first.entry, here, composing));
  }
  return { kind: "map", at: parts[0]?.tree.at ?? 0, entries };
}

interface Holder {
  readonly part: Part;
  readonly entry: Entry;
}

function mergeEntry(holders: readonly Holder[], first: Entry, path: Path, composing: Composing): Entry {
  const list = LISTS.find((it) => isSame(it.path, path));
  if (list !== undefined) return { ...first, value: concatenate(holders, list, composing) };
  const inner = holders.flatMap(({ part, entry: { value } }) =>
    value.kind === "map" ? [{ ...part, tree: value }] : [],
  );
  const leadsToList = LISTS.some((it) => it.path.length > path.length && isSame(it.path.slice(0, path.length), path));
  if (leadsToList && inner.length === holders.length) return { ...first, value: merge(inner, path, composing) };
  const owner = holders[0]?.part.source.name ?? "";
  for (const { part, entry } of holders.slice(1)) {
    const message = `\`${formatPath(path)}\` is also in the source ${shown(owner)}; sources must not overlap`;
    composing.problems.push(problemOf(part.parsed.placeOf(entry.keyAt - part.base), path, message));
  }
  return first;
}

const LISTS: readonly NamedList[] = NAMED_LISTS.filter(({ composes }) => composes);

const isSame = (one: Path, other: Path): boolean =>
  one.length === other.length && one.every((step, at) => step === other[at]);

/** Concatenates a list. An overlapping entry becomes a refused one, so that later entries keep their indexes. */
function concatenate(holders: readonly Holder[], list: NamedList, composing: Composing): Tree {
  const held = new Map<string, { readonly part: Part; readonly at: number }>();
  const items: Tree[] = [];
  const starts: number[] = [];
  for (const { part, entry } of holders) {
    const { value } = entry;
    const placeOf = (offset: number) => part.parsed.placeOf(offset - part.base);
    starts.push(items.length);
    if (value.kind !== "list") {
      if (value.kind !== "refused") composing.problems.push(problemOf(placeOf(value.at), list.path, "expected a list"));
      continue;
    }
    for (const [index, item] of value.items.entries()) {
      const names = namesOf(item, list);
      const overlap = names.find(({ key }) => held.has(key));
      const holder = overlap && held.get(overlap.key);
      for (const { key } of names) if (!held.has(key)) held.set(key, { part, at: item.at });
      items.push(holder === undefined ? item : { kind: "refused", at: item.at });
      if (overlap === undefined || holder === undefined) continue;
      const { line } = holder.part.parsed.placeOf(holder.at - holder.part.base);
      const where =
        holder.part.source === part.source
          ? `appears here a second time, first at line ${line}`
          : `is also in the source ${shown(holder.part.source.name)}, at line ${line}; sources must not overlap`;
      composing.problems.push(
        problemOf(placeOf(item.at), [...list.path, index], `the ${list.what} ${shown(overlap.name)} ${where}`),
      );
    }
  }
  composing.lists.push({ path: list.path, starts });
  return { kind: "list", at: holders[0]?.entry.value.at ?? 0, items };
}

/**
 * Returns the names of an entry as written. A name that is a reference is compared after it is resolved, when the composed
 * document is read.
 */
function namesOf(item: Tree, { names }: NamedList): readonly { readonly name: string; readonly key: string }[] {
  return names.flatMap((keys, group) => {
    const name = keys.map((key) => textAt(item, key)).find((text) => text !== undefined);
    return name === undefined || name.includes("${") ? [] : [{ name, key: `${group}:${name}` }];
  });
}

function textAt(item: Tree, dotted: string): string | undefined {
  let tree: Tree | undefined = item;
  for (const step of dotted.split(".")) tree = tree?.kind === "map" ? tree.entries.get(step)?.value : undefined;
  return tree?.kind === "scalar" && typeof tree.value === "string" ? tree.value : undefined;
}

function writtenPath(path: Path, lists: readonly Composed[]): Path {
  const list = lists.find((it) => isSame(it.path, path.slice(0, it.path.length)));
  const index = path[list?.path.length ?? path.length];
  if (list === undefined || typeof index !== "number") return path;
  const start = list.starts.findLast((it) => it <= index) ?? 0;
  return [...list.path, index - start, ...path.slice(list.path.length + 1)];
}
