/**
 * Reads only the parts of a deployment document that guardrail evaluation and rehearsals need, so that a machine without the
 * providers' keys can run them: `guardrails`, the detectors that profiles select, the models that detectors refer to, and the
 * providers that judges use.
 */

import { type Deployment, deploymentChecks, deploymentSchema } from "./deployment/index.ts";
import { DEPLOYMENT_RULES } from "./documents.ts";
import type { Path } from "./problem.ts";
import { type Read, readParsed } from "./read-document.ts";
import type { References } from "./references/value-references.ts";
import { parseTree, type Source, type Tree } from "./yaml/located-tree.ts";

interface GuardrailsReading {
  /** True to keep access tokens of hubs. A machine that has the models in its cache does not need them. */
  readonly withTokens: boolean;
}

/**
 * Paths whose problems are reported. Checks of omitted sections would report missing parts, and their warnings matter only to a
 * serving gateway.
 */
const IS_READ = /^(guardrails|models|profiles\[\d+\]\.guardrails)\b/;
const IS_NEEDED = /^(providers|credentials|catalog_overlays)\b/;

/** Reads the guardrail parts. References elsewhere in the document are not resolved, and errors elsewhere are not reported. */
export function readGuardrails(source: Source, references: References, reading: GuardrailsReading): Read<Deployment> {
  const parsed = parseTree(source);
  const { tree, writtenPath } = parsed.tree === undefined ? UNREAD : partOf(parsed.tree, reading);
  return readParsed(deploymentSchema, { ...parsed, tree, writtenPath }, references, {
    ...DEPLOYMENT_RULES,
    whenEmpty: "the deployment document is empty",
    checks: (document, problem) =>
      deploymentChecks(document, problem).filter(
        ({ path, severity }) => IS_READ.test(path) || (severity === "error" && IS_NEEDED.test(path)),
      ),
  });
}

interface Part {
  readonly tree: Tree | undefined;
  /** Maps a path back to the written document, since entries removed from lists shift later ones. */
  readonly writtenPath: (path: Path) => Path;
}

const UNREAD: Part = { tree: undefined, writtenPath: (path) => path };

function partOf(whole: Tree, { withTokens }: GuardrailsReading): Part {
  const detectors = itemsOf(at(whole, "guardrails", "detectors"));
  const refs = new Set(
    detectors.flatMap((detector) => ["nlp", "classify", "embed"].flatMap((type) => textAt(detector, type, "ref"))),
  );
  const providers = judgeProviders(
    itemsOf(at(whole, "providers")),
    detectors.flatMap((detector) => textAt(detector, "llm", "provider")),
  );
  const credentials = new Set(providers.flatMap((provider) => textAt(provider, "credential")));
  const lists: readonly Shortened[] = [
    shortened(at(whole, "models", "models"), ["models", "models"], (item) => isNamed(item, refs)),
    shortened(at(whole, "providers"), ["providers"], (item) => providers.includes(item)),
    shortened(at(whole, "credentials"), ["credentials"], (item) => isNamed(item, credentials)),
  ];
  const read = only(whole, ["guardrails", "profiles", "models", "providers", "credentials", "catalog_overlays"]);
  const kept = providers.length > 0 ? read : only(read, ["guardrails", "profiles", "models"]);
  const trees = lists.reduce((tree, { path, list }) => (list === undefined ? tree : put(tree, path, list)), kept);
  const profiles = changed(trees, ["profiles"], (list) => each(list, (item) => only(item, ["name", "guardrails"])));
  return {
    tree: withTokens ? profiles : changed(profiles, ["models", "models"], (list) => each(list, withoutToken)),
    writtenPath: (path) => lists.reduce(writtenIn, path),
  };
}

/** Returns the providers with these names, and their failover providers. */
function judgeProviders(providers: readonly Tree[], names: readonly string[]): readonly Tree[] {
  const nameOf = (provider: Tree): string | undefined =>
    [...textAt(provider, "name"), ...textAt(provider, "preset")][0];
  const named = (all: readonly string[]) => providers.filter((provider) => all.includes(nameOf(provider) ?? ""));
  const first = named(names);
  const others = named(
    first.flatMap((provider) =>
      itemsOf(at(provider, "failover", "to")).flatMap((to) =>
        to.kind === "scalar" && typeof to.value === "string" ? to.value : [],
      ),
    ),
  );
  return [...first, ...others];
}

const withoutToken = (model: Tree): Tree => changed(model, ["hub"], (hub) => except(hub, "token"));

interface Shortened {
  readonly path: readonly string[];
  readonly list: Tree | undefined;
  /** Original index of each kept item. */
  readonly places: readonly number[];
}

function shortened(list: Tree | undefined, path: readonly string[], isKept: (item: Tree) => boolean): Shortened {
  if (list?.kind !== "list") return { path, list: undefined, places: [] };
  const kept = [...list.items.entries()].filter(([, item]) => isKept(item));
  return { path, list: { ...list, items: kept.map(([, item]) => item) }, places: kept.map(([place]) => place) };
}

function writtenIn(path: Path, { path: own, places }: Shortened): Path {
  const index = path[own.length];
  const isBelow = typeof index === "number" && own.every((key, level) => path[level] === key);
  const place = isBelow ? places[index] : undefined;
  return place === undefined ? path : [...own, place, ...path.slice(own.length + 1)];
}

const at = (tree: Tree | undefined, ...keys: readonly string[]): Tree | undefined =>
  keys.reduce<Tree | undefined>(
    (below, key) => (below?.kind === "map" ? below.entries.get(key)?.value : undefined),
    tree,
  );

const itemsOf = (tree: Tree | undefined): readonly Tree[] => (tree?.kind === "list" ? tree.items : []);

function textAt(tree: Tree, ...keys: readonly string[]): readonly string[] {
  const found = at(tree, ...keys);
  return found?.kind === "scalar" && typeof found.value === "string" ? [found.value] : [];
}

const isNamed = (item: Tree, names: ReadonlySet<string>): boolean =>
  textAt(item, "name").some((name) => names.has(name));

const only = (tree: Tree, keys: readonly string[]): Tree =>
  tree.kind === "map" ? { ...tree, entries: new Map([...tree.entries].filter(([key]) => keys.includes(key))) } : tree;

const except = (tree: Tree, key: string): Tree =>
  tree.kind === "map" ? { ...tree, entries: new Map([...tree.entries].filter(([own]) => own !== key)) } : tree;

const each = (list: Tree, change: (item: Tree) => Tree): Tree =>
  list.kind === "list" ? { ...list, items: list.items.map(change) } : list;

/** Returns the tree with the value at the path changed; unchanged if there is none. */
function changed(tree: Tree, [key, ...rest]: readonly string[], change: (value: Tree) => Tree): Tree {
  if (key === undefined) return change(tree);
  const entry = tree.kind === "map" ? tree.entries.get(key) : undefined;
  if (tree.kind !== "map" || entry === undefined) return tree;
  return {
    ...tree,
    entries: new Map([...tree.entries, [key, { ...entry, value: changed(entry.value, rest, change) }]]),
  };
}

const put = (tree: Tree, path: readonly string[], value: Tree): Tree => changed(tree, path, () => value);
