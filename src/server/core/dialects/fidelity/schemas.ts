/**
 * Checks schemas of structured answers and of strict tools. Each provider accepts a different subset.
 *
 * Sources: JSON Schema, draft 2020-12; dialects reference, 7 and 8.1; for messages the list of "JSON Schema limitations" at
 * platform.claude.com/docs/en/build-with-claude/structured-outputs, which also applies to strict tools.
 *
 * A messages provider refuses two kinds of keywords. A bound on a value (`minimum`, `maxLength`) does not change the form of
 * the answer: it is removed, described to the model in words, as the provider's own SDK does, and counted as a hint that is
 * not enforced. Without keywords of the other kind (recursion, external references, objects with any property) the answer
 * would have another form, so such a schema is lost.
 */
import { listOf, objectOf, type Values } from "../json/json-values.ts";

/** Maximum number of schemas that are visited, more than any provider allows. */
const MAX_SCHEMA_NODES = 5000;

/** Keywords that contain schemas by name, and keywords that contain a schema or a list of them. */
export const NAMED_SCHEMAS = ["properties", "$defs", "definitions"] as const;
export const NESTED_SCHEMAS = ["anyOf", "oneOf", "allOf", "prefixItems", "items"] as const;

/**
 * Keywords of the provider's list, including those that its "etc." covers: each bounds a number, a text, an array or an object.
 */
const BOUNDS: ReadonlySet<string> = new Set([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "maxItems",
  "uniqueItems",
  "contains",
  "minContains",
  "maxContains",
  "minProperties",
  "maxProperties",
]);

const FORMATS: ReadonlySet<unknown> = new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "uri",
  "ipv4",
  "ipv6",
  "uuid",
]);

/** Parts of a regular expression that are not supported: special groups, back references, word boundaries. */
const HARD_PATTERN = /\(\?|\\[1-9bB]/u;

/** Returns the schemas directly within one. Only keywords that the providers' structured outputs support are followed. */
function schemasWithin(node: Values): readonly unknown[] {
  const found: unknown[] = [];
  for (const name of NAMED_SCHEMAS) for (const part of Object.values(objectOf(node[name]) ?? {})) found.push(part);
  for (const name of NESTED_SCHEMAS) for (const part of listOf(node[name])) found.push(part);
  found.push(node.items);
  return found;
}

/** Returns the schema and all schemas within it, or `undefined` if it is too large. */
function schemasIn(schema: unknown): readonly Values[] | undefined {
  const found: Values[] = [];
  const rest: unknown[] = [schema];
  while (rest.length > 0) {
    const node = objectOf(rest.pop());
    if (node === undefined) continue;
    if (found.push(node) > MAX_SCHEMA_NODES) return undefined;
    for (const part of schemasWithin(node)) rest.push(part);
  }
  return found;
}

export function describesObject({ type, properties }: Values): boolean {
  return type === "object" || listOf(type).includes("object") || objectOf(properties) !== undefined;
}

const isClosedObject = (node: Values): boolean => !describesObject(node) || node.additionalProperties === false;

/**
 * Returns whether compat's strict mode accepts the schema: every object in it requires all its properties and allows no others.
 */
export function isClosedSchema(schema: unknown): boolean {
  return (
    schemasIn(schema)?.every((node) => isClosedObject(node) && areAllRequired(node, new Set(listOf(node.required)))) ??
    false
  );
}

const areAllRequired = ({ properties }: Values, names: ReadonlySet<unknown>): boolean =>
  Object.keys(objectOf(properties) ?? {}).every((name) => names.has(name));

/**
 * Returns whether a messages provider accepts the schema as it is: all its objects are closed, and nothing has to move into the
 * description.
 */
export function isAcceptedByMessages(schema: unknown): boolean {
  return schemasIn(schema)?.every((node) => isClosedObject(node) && !hasBounds(node)) ?? false;
}

/** Returns whether part of the schema is described to the model and not enforced. */
export function hasUnenforcedBounds(schema: unknown): boolean {
  return schemasIn(schema)?.some(hasEffectiveBounds) ?? false;
}

function hasEffectiveBounds(node: Values): boolean {
  for (const name in node) if (isBound(name, node[name]) && !isIneffectiveBound(name, node[name])) return true;
  return false;
}

/**
 * Returns whether a bound has no effect because it is the limit of whole numbers in a double. Some libraries state it for
 * every integer.
 */
export function isIneffectiveBound(name: string, value: unknown): boolean {
  if (name === "minimum") return value === Number.MIN_SAFE_INTEGER;
  return name === "maximum" && value === Number.MAX_SAFE_INTEGER;
}

function hasBounds(node: Values): boolean {
  for (const name in node) if (isBound(name, node[name])) return true;
  return false;
}

/**
 * Returns whether the keyword is a bound that a messages provider refuses. Leaving it out does not change the form of the
 * answer.
 */
export function isBound(name: string, value: unknown): boolean {
  switch (name) {
    case "minItems":
      return value !== 0 && value !== 1;
    case "format":
      return !FORMATS.has(value);
    case "pattern":
      return typeof value === "string" && HARD_PATTERN.test(value);
    default:
      return BOUNDS.has(name);
  }
}

/**
 * Returns whether a messages provider's structured output can express the schema. It refuses objects with additional
 * properties. If a schema does not mention additional properties, closing its objects only narrows it, unless such properties
 * are required, or belong to a sibling schema.
 */
export function isExpressibleInMessages(schema: unknown): boolean {
  const nodes = schemasIn(schema);
  if (nodes === undefined) return false;
  const areAllClosed = nodes.every(isClosedObject);
  return nodes.every((node) => (areAllClosed || canBeClosed(node)) && isSelfContained(node)) && !isRecursive(nodes);
}

function canBeClosed(node: Values): boolean {
  if (isClosedObject(node)) return node.allOf === undefined;
  if (node.additionalProperties !== undefined || node.allOf !== undefined) return false;
  const properties = objectOf(node.properties) ?? {};
  return listOf(node.required).every((name) => typeof name === "string" && Object.hasOwn(properties, name));
}

/**
 * Returns whether the node has no external reference, no reference within `allOf`, and no object or list as an allowed value.
 */
function isSelfContained(node: Values): boolean {
  if (typeof node.$ref === "string" && !node.$ref.startsWith("#")) return false;
  if (listOf(node.allOf).some((part) => objectOf(part)?.$ref !== undefined)) return false;
  return [...listOf(node.enum), node.const].every((value) => typeof value !== "object" || value === null);
}

/**
 * Returns whether a schema refers to itself. Schemas without references to the remaining ones are removed repeatedly; if any
 * remain, there is a cycle.
 */
function isRecursive(nodes: readonly Values[]): boolean {
  const [root] = nodes;
  if (nodes.every(({ $ref }) => $ref === undefined)) return false;
  const targetsByNode = nodes.map((node) => [...schemasWithin(node), resolveReference(root, node.$ref)]);
  const referenceCounts = new Map<unknown, number>(nodes.map((node) => [node, 0]));
  const count = (target: unknown, by: number): number | undefined => {
    const had = referenceCounts.get(target);
    if (had === undefined) return undefined;
    referenceCounts.set(target, had + by);
    return had + by;
  };
  for (const target of targetsByNode.flat()) count(target, 1);
  const indexByNode = new Map<unknown, number>(nodes.map((node, index) => [node, index]));
  const unreferenced: unknown[] = nodes.filter((node) => referenceCounts.get(node) === 0);
  let remaining = nodes.length;
  for (let node = unreferenced.pop(); node !== undefined; node = unreferenced.pop()) {
    remaining -= 1;
    for (const target of targetsByNode[indexByNode.get(node) ?? 0] ?? [])
      if (count(target, -1) === 0) unreferenced.push(target);
  }
  return remaining > 0;
}

/**
 * Returns the target of a reference within the schema (RFC 6901), or `undefined` if it has none. Invalid references are left
 * to the provider.
 */
function resolveReference(root: unknown, ref: unknown): unknown {
  if (typeof ref !== "string" || !/^#(?:\/|$)/u.test(ref)) return undefined;
  if (ref === "#") return root;
  let target = root;
  for (const name of ref.slice(2).split("/")) {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
    const holder: unknown = target;
    if (typeof holder !== "object" || holder === null || !Object.hasOwn(holder, key)) return undefined;
    target = (holder as Values)[key];
  }
  return target;
}
