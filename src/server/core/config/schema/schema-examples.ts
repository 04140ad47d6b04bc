/**
 * Examples of a schema: the stated ones, or some derived from its choices, its type or the examples of its parts. Editors offer
 * them, and the reference shows them.
 */

import { isSchema } from "./defaults.ts";
import type { Format, JsonSchema } from "./schema.ts";
import { FORMATS } from "./string-formats.ts";

const SECRET_EXAMPLES = ["${secret:NAME}", "${VARIABLE}"];

/** Maximum number of entries in a derived list, so that an example stays short. */
const MAX_ITEMS = 3;

/** Returns the examples of a schema. They are empty only if the schema accepts any value. */
export function examplesOf(schema: JsonSchema): readonly unknown[] {
  const { examples, format, items, additionalProperties } = schema;
  if (Array.isArray(examples)) return examples;
  if (Array.isArray(schema["enum"])) return choicesOf(schema["enum"], schema["default"]);
  if (schema["x-secret"] !== undefined) return SECRET_EXAMPLES;
  if (format !== undefined) return FORMATS[format as Format].examples;
  switch (schema["type"]) {
    case "boolean":
      return [defaultOf(schema) !== true];
    case "array":
      return isSchema(items) ? [listOf(items)] : [];
    case "object":
      return [isSchema(additionalProperties) ? mapOf(additionalProperties) : objectOf(schema)];
    default:
      return "default" in schema ? [schema["default"]] : [];
  }
}

const defaultOf = (schema: JsonSchema): unknown => schema["default"] ?? schema["x-assumed"];

/** Returns the first choice that is not the default, since writing the default changes nothing. */
const choicesOf = (choices: readonly unknown[], defaultChoice: unknown): readonly unknown[] => [
  choices.find((choice) => choice !== defaultChoice && choice !== "") ?? choices[0],
];

const listOf = (items: JsonSchema): readonly unknown[] =>
  examplesOf(items).slice(0, items["type"] === "object" ? 1 : MAX_ITEMS);

const mapOf = (values: JsonSchema): JsonSchema => ({ name: examplesOf(values)[0] });

/** Returns an object with the required keys and one key of each group that needs one; with the first key if there are none. */
function objectOf(schema: JsonSchema): JsonSchema {
  const properties = isSchema(schema["properties"]) ? schema["properties"] : {};
  const groups = (schema["x-one-of"] ?? []) as readonly (readonly string[])[];
  const needed = new Set([
    ...((schema["required"] ?? []) as readonly string[]),
    ...groups.flatMap(([first]) => first ?? []),
  ]);
  const names = Object.keys(properties).filter((name) => needed.has(name));
  const shown = names.length > 0 ? names : Object.keys(properties).slice(0, 1);
  return Object.fromEntries(shown.map((name) => [name, examplesOf(properties[name] as JsonSchema)[0]]));
}
