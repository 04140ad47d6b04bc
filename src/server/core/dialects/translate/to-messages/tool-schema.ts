/**
 * Merges the top-level `anyOf`, `oneOf` or `allOf` of a tool's parameters, because messages providers refuse the whole request
 * otherwise. The result has every member that any alternative has, and requires those that all of them require. Further
 * constraints of the alternatives move into the description. Arguments keep their form, so that answers need not be converted
 * back. Source: dialects reference, 8.1; design decisions, section 20.
 */
import type { JsonSource } from "../../json/json-source.ts";
import { listOf, objectOf, stringOf, type Values } from "../../json/json-values.ts";

const UNIONS = ["anyOf", "oneOf"] as const;
const COMBINED: ReadonlySet<string> = new Set([...UNIONS, "allOf", "$ref"]);

/** Maximum depth and maximum number of the schemas that are followed. */
const MAX_DEPTH = 16;
const MAX_SCHEMAS = 1_000;

/** Returns whether a messages provider refuses the schema because of its top-level keywords. */
export const hasTopLevelUnion = (schema: Values): boolean =>
  Object.keys(schema).some((name) => COMBINED.has(name) && schema[name] !== undefined);

interface Shape {
  /** Schemas of each member. All schemas of a member apply. */
  readonly properties: ReadonlyMap<string, readonly unknown[]>;
  readonly required: ReadonlySet<string>;
}

const NOTHING: Shape = { properties: new Map(), required: new Set() };

interface MergedSchema {
  readonly schema: Values;
  /** Whether it accepts arguments that the original refuses, or describes them less precisely. */
  readonly isLossy: boolean;
}

export function mergeSchema(schema: Values, exact: JsonSource["exact"]): MergedSchema {
  const merging = new SchemaMerger(schema, exact);
  const { properties, required } = merging.shapeOf(schema, 0) ?? NOTHING;
  const kept = Object.entries(schema).filter(([name]) => !COMBINED.has(name) && !REWRITTEN_MEMBERS.has(name));
  const description = [stringOf(schema["description"]) ?? "", ...merging.notes]
    .filter((text) => text !== "")
    .join("\n\n");
  const merged = {
    type: "object",
    ...Object.fromEntries(kept.map(([name, value]) => [name, exact(value)])),
    ...(description !== "" && { description }),
    properties: Object.fromEntries(
      [...properties].map(([name, all]) => [name, all.length === 1 ? exact(all[0]) : { allOf: all.map(exact) }]),
    ),
    ...(required.size > 0 && { required: [...required] }),
  };
  return { schema: merged, isLossy: merging.isLossy };
}

/** Members that are rewritten. `additionalProperties` of one alternative would refuse the members of another. */
const REWRITTEN_MEMBERS: ReadonlySet<string> = new Set([
  ...["type", "properties", "required", "description", "additionalProperties", "unevaluatedProperties"],
]);

/** Members of a nested schema that are merged, or that do not constrain arguments. */
const MERGED: ReadonlySet<string> = new Set([
  ...COMBINED,
  ...["type", "properties", "required", "title", "$defs", "definitions", "$schema", "$id", "$comment"],
  ...["additionalProperties", "unevaluatedProperties"],
]);

class SchemaMerger {
  readonly notes: string[] = [];
  isLossy = false;
  readonly #root: Values;
  readonly #exact: JsonSource["exact"];
  #left = MAX_SCHEMAS;

  constructor(root: Values, exact: JsonSource["exact"]) {
    this.#root = root;
    this.#exact = exact;
  }

  /** Returns the shape, or `undefined` if no object matches the schema, or it does not describe one. */
  shapeOf(schema: Values, depth: number): Shape | undefined {
    if (depth > MAX_DEPTH || --this.#left < 0) {
      this.isLossy = true;
      return NOTHING;
    }
    if (!mayBeObject(schema)) return undefined;
    if (losesDetail(schema, depth)) this.isLossy = true;
    const shapes: Shape[] = [ownShape(schema)];
    const referred = this.#referred(schema["$ref"]);
    if (referred !== undefined) shapes.push(this.shapeOf(referred, depth + 1) ?? NOTHING);
    else if (schema["$ref"] !== undefined) this.isLossy = true;
    for (const part of listOf(schema["allOf"])) shapes.push(this.shapeOf(objectOf(part) ?? {}, depth + 1) ?? NOTHING);
    for (const name of UNIONS) {
      const alternatives = listOf(schema[name]).flatMap((part) => this.shapeOf(objectOf(part) ?? {}, depth + 1) ?? []);
      if (alternatives.length > 0) shapes.push(this.#either(alternatives));
    }
    return shapes.reduce(intersect);
  }

  #referred(ref: unknown): Values | undefined {
    if (typeof ref !== "string" || !ref.startsWith("#/")) return undefined;
    let at: unknown = this.#root;
    for (const step of ref.slice(2).split("/")) {
      const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
      const holder = objectOf(at);
      at = holder !== undefined && Object.hasOwn(holder, name) ? holder[name] : undefined;
    }
    return objectOf(at);
  }

  #either(alternatives: readonly Shape[]): Shape {
    if (new Set(alternatives.map(textOf)).size > 1) this.isLossy = true;
    const properties = new Map<string, unknown[]>();
    for (const shape of alternatives) {
      for (const [name, all] of shape.properties) {
        const known = properties.get(name) ?? [];
        const schema = all.length === 1 ? all[0] : { allOf: all.map(this.#exact) };
        if (!known.some((one) => JSON.stringify(one) === JSON.stringify(schema))) known.push(schema);
        properties.set(name, known);
      }
    }
    const [first = NOTHING, ...others] = alternatives;
    const required = [...first.required].filter((name) => others.every((shape) => shape.required.has(name)));
    const sets = alternatives.map((shape) => [...shape.required]).filter((names) => names.length > required.length);
    if (alternatives.length > 1 && sets.length > 0) {
      this.notes.push(`Give the members of one of these: ${sets.map((names) => names.join(", ")).join("; or ")}.`);
    }
    return {
      properties: new Map(
        [...properties].map(([name, all]) => [name, all.length === 1 ? all : [{ anyOf: all.map(this.#exact) }]]),
      ),
      required: new Set(required),
    };
  }
}

const OPENNESS = ["additionalProperties", "unevaluatedProperties"] as const;

/** Returns whether merging loses part of the schema. At the top level only the rewritten members can be lost. */
function losesDetail(schema: Values, depth: number): boolean {
  if (OPENNESS.some((name) => (schema[name] ?? true) !== true)) return true;
  return depth > 0 && Object.keys(schema).some((name) => !MERGED.has(name));
}

const textOf = ({ properties, required }: Shape): string =>
  JSON.stringify([[...properties].sort(), [...required].sort()]);

function mayBeObject({ type }: Values): boolean {
  return type === undefined || type === "object" || listOf(type).includes("object");
}

function ownShape(schema: Values): Shape {
  const properties = Object.entries(objectOf(schema["properties"]) ?? {});
  const required = listOf(schema["required"]).filter((name) => typeof name === "string");
  return { properties: new Map(properties.map(([name, value]) => [name, [value]])), required: new Set(required) };
}

function intersect(one: Shape, other: Shape): Shape {
  const properties = new Map(one.properties);
  for (const [name, all] of other.properties) properties.set(name, [...(properties.get(name) ?? []), ...all]);
  return { properties, required: new Set([...one.required, ...other.required]) };
}
