/**
 * Converts our schema to plain JSON Schema 2020-12, for `-config-schema`, `gateway schema` and editors.
 *
 * The result describes a document as written: a string may be a reference, so limits of a string apply only without one; names,
 * numbers and booleans may not. Rules between keys become `not`, `oneOf` and `dependentRequired`; formats become patterns,
 * since `duration` and others mean something else in JSON Schema. A key that this version lacks keeps its form and says so in
 * its description.
 */

import { isSchema } from "./defaults.ts";
import type { Format, JsonSchema, Schema } from "./schema.ts";
import { examplesOf } from "./schema-examples.ts";
import { FORMATS } from "./string-formats.ts";

interface Naming {
  readonly id: string;
  readonly title: string;
}

type Groups = readonly (readonly string[])[];

export function printableSchema(schema: Schema<unknown>, { id, title }: Naming): JsonSchema {
  return { $schema: "https://json-schema.org/draft/2020-12/schema", $id: id, title, ...printable(schema.json) };
}

function printable(schema: JsonSchema): JsonSchema {
  const isText = schema["type"] === "string";
  const isNumeric = isText && numbersIn(schema).length > 0;
  const isKept = (keyword: string) =>
    !REWRITTEN.has(keyword) && !(isText && TEXT_LIMITS.has(keyword)) && !(isNumeric && keyword === "type");
  const kept = Object.fromEntries(Object.entries(schema).filter(([keyword]) => isKept(keyword)));
  return {
    ...kept,
    ...described(schema),
    ...offered(schema),
    ...(schema["x-assumed"] !== undefined && { default: schema["x-assumed"] }),
    ...(schema["x-secret"] !== undefined && { writeOnly: true }),
    ...(isSchema(schema["properties"]) && { properties: each(schema["properties"]) }),
    ...(isSchema(schema["additionalProperties"]) && {
      additionalProperties: printable(schema["additionalProperties"]),
    }),
    ...(isSchema(schema["items"]) && { items: printable(schema["items"]) }),
    ...alternatives(schema),
    ...(isText && limitedText(schema)),
    ...keyRules(schema),
  };
}

const TEXT_LIMITS: ReadonlySet<string> = new Set(["enum", "const", "pattern", "format", "minLength", "maxLength"]);

const ALTERNATIVES = ["anyOf", "oneOf", "allOf"] as const;

const REWRITTEN: ReadonlySet<string> = new Set([
  "x-not-yet",
  "x-secret",
  "x-references",
  "x-exclusive",
  "x-one-of",
  "x-together",
  "x-assumed",
  "x-empty",
]);

const each = (schemas: JsonSchema): JsonSchema =>
  Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, isSchema(schema) ? printable(schema) : schema]),
  );

function described(schema: JsonSchema): JsonSchema {
  const { description, "x-not-yet": notYet } = schema;
  const parts = [description, notYet === true ? "Not supported by this version." : undefined].filter(
    (part) => part !== undefined,
  );
  return parts.length === 0 ? {} : { description: parts.join(" ") };
}

/** Returns the stated or derived examples, so that every key has some. */
function offered(schema: JsonSchema): JsonSchema {
  const examples = examplesOf(schema);
  return examples.length === 0 ? {} : { examples };
}

const alternatives = (schema: JsonSchema): JsonSchema =>
  Object.fromEntries(
    ALTERNATIVES.filter((keyword) => Array.isArray(schema[keyword])).map((keyword) => [
      keyword,
      (schema[keyword] as readonly JsonSchema[]).map(printable),
    ]),
  );

/** Applies limits to the text unless it is a reference; a key without limits stays unchanged. */
function limitedText(schema: JsonSchema): JsonSchema {
  const limits: Record<string, unknown> = {};
  for (const keyword of TEXT_LIMITS) if (schema[keyword] !== undefined) limits[keyword] = schema[keyword];
  if (Object.keys(limits).length === 0) return {};
  const { format, pattern, ...others } = limits;
  const patterns = [pattern, format === undefined ? undefined : FORMATS[format as Format].pattern];
  const [first, second] = patterns.filter((it) => it !== undefined);
  const written = {
    ...others,
    ...(first !== undefined && { pattern: first }),
    ...(second !== undefined && { allOf: [{ pattern: second }] }),
  };
  const instead = [
    ...(schema["x-references"] === "none" ? [] : [{ pattern: "\\$\\{" }]),
    ...(schema["x-empty"] === true ? [{ const: "" }] : []),
  ];
  const numbers = numbersIn(schema);
  // Each branch states its type, since ajv's strict mode does not allow a list of types.
  if (numbers.length > 0) {
    const texts = [written, ...instead].map((branch) => ({ type: "string", ...branch }));
    return { anyOf: [...texts, { type: "integer", enum: numbers }] };
  }
  return instead.length === 0 ? written : { anyOf: [written, ...instead] };
}

/**
 * Returns the choices that YAML reads as integers unless they are quoted, as in `when: [connect, 429]`. The reader accepts
 * both forms.
 */
const numbersIn = ({ enum: choices }: JsonSchema): readonly number[] =>
  Array.isArray(choices) ? choices.filter((choice) => /^\d+$/.test(String(choice))).map(Number) : [];

function keyRules(schema: JsonSchema): JsonSchema {
  const groups = (keyword: string) => (schema[keyword] ?? []) as Groups;
  const rules = [
    ...groups("x-exclusive")
      .flatMap(pairs)
      .map((pair) => ({ not: requiring(pair) })),
    ...groups("x-one-of").map((group) => ({ oneOf: group.map((key) => requiring([key])) })),
  ];
  const together = groups("x-together");
  const dependent = new Map<string, Set<string>>();
  for (const group of together) {
    for (const key of group) {
      const others = group.filter((other) => other !== key);
      dependent.set(key, new Set([...(dependent.get(key) ?? []), ...others]));
    }
  }
  return {
    ...(rules.length > 0 && { allOf: rules }),
    ...(dependent.size > 0 && {
      dependentRequired: Object.fromEntries([...dependent].map(([key, others]) => [key, [...others]])),
    }),
  };
}

/** Returns a schema that requires the keys. It also lists them as properties, which ajv's strict mode requires. */
const requiring = (keys: readonly string[]): JsonSchema => ({
  required: keys,
  properties: Object.fromEntries(keys.map((key) => [key, {}])),
});

const pairs = (group: readonly string[]): readonly (readonly string[])[] =>
  group.flatMap((first, index) => group.slice(index + 1).map((second) => [first, second]));
