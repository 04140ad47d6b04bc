/**
 * Structural check of an answer against the contract: types of values and required keys. Ranges, patterns and enumerations are
 * not checked and unknown keys are allowed, so that a gateway with a newer column or word is still understood.
 */

import type { JsonSchema } from "../../base/index.ts";

/** Returns whether the value matches the schema. */
export function fits(schema: JsonSchema, value: unknown): boolean {
  const { type } = schema;
  if (type === undefined) return true;
  return Array.isArray(type) ? type.some((it) => isOf(it, schema, value)) : isOf(type, schema, value);
}

function isOf(type: unknown, schema: JsonSchema, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "integer":
    case "number":
      return typeof value === "number";
    case "array":
      return Array.isArray(value) && value.every((it) => fits(schemaIn(schema["items"]), it));
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value) && isObjectOf(schema, value);
    default:
      return typeof value === type;
  }
}

function isObjectOf({ properties, additionalProperties, required }: JsonSchema, value: object): boolean {
  const known = schemaIn(properties);
  const others = schemaIn(additionalProperties);
  if (Array.isArray(required) && !required.every((name) => Object.hasOwn(value, String(name)))) return false;
  for (const [name, it] of Object.entries(value)) {
    if (!fits(Object.hasOwn(known, name) ? schemaIn(known[name]) : others, it)) return false;
  }
  return true;
}

/** Returns the nested schema; the empty schema, which allows anything, if there is none. */
const schemaIn = (value: unknown): JsonSchema =>
  typeof value === "object" && value !== null ? (value as JsonSchema) : {};
