/**
 * Rules of the dialects for JSON schemas of strict tools and of structured answers: their objects must be closed and, in
 * compat, must require every property.
 *
 * Sources: dialects.md section 7 `strict_tools` and `json_schema`; the wording is that of recorded refusals.
 */

import { arrayOf, type Json, type JsonObject, objectOf, stringOf } from "../json-fields.ts";

/** Maximum depth that is checked. The providers refuse deeper schemas because of their depth. */
const MAX_DEPTH = 64;

type SchemaFault =
  /** Fault in a schema. `context`: names on the path to it. */
  | { readonly kind: "open"; readonly context: readonly string[] }
  | { readonly kind: "optional"; readonly context: readonly string[]; readonly name: string };

interface Strictness {
  /** True if every property must be required. */
  readonly isAllRequired: boolean;
}

/** Returns the first object of a schema that allows further properties or, if requested, has optional ones. */
export function strictFault(schema: Json | undefined, strictness: Strictness): SchemaFault | undefined {
  return faultWithin(schema, [], strictness);
}

function faultWithin(
  value: Json | undefined,
  context: readonly string[],
  strictness: Strictness,
): SchemaFault | undefined {
  const schema = objectOf(value);
  if (schema === undefined || context.length > MAX_DEPTH) return undefined;
  return faultOf(schema, context, strictness) ?? faultBelow(schema, context, strictness);
}

function faultOf(schema: JsonObject, context: readonly string[], strictness: Strictness): SchemaFault | undefined {
  const { type } = schema;
  const isObject = type === "object" || (arrayOf(type)?.includes("object") ?? false);
  if (!isObject) return undefined;
  if (schema["additionalProperties"] !== false) return { kind: "open", context };
  if (!strictness.isAllRequired) return undefined;
  const required = new Set((arrayOf(schema["required"]) ?? []).map(stringOf));
  const name = Object.keys(objectOf(schema["properties"]) ?? {}).find((each) => !required.has(each));
  return name === undefined ? undefined : { kind: "optional", context, name };
}

function faultBelow(schema: JsonObject, context: readonly string[], strictness: Strictness): SchemaFault | undefined {
  for (const word of ["properties", "$defs", "definitions"]) {
    for (const [name, each] of Object.entries(objectOf(schema[word]) ?? {})) {
      const fault = faultWithin(each, [...context, word, name], strictness);
      if (fault !== undefined) return fault;
    }
  }
  for (const word of ["anyOf", "allOf"]) {
    for (const [index, each] of (arrayOf(schema[word]) ?? []).entries()) {
      const fault = faultWithin(each, [...context, word, String(index)], strictness);
      if (fault !== undefined) return fault;
    }
  }
  return faultWithin(schema["items"], [...context, "items"], strictness);
}

/** Returns whether the top level of a tool's schema is not a single object. */
export function hasAlternativesAtTop(schema: JsonObject): boolean {
  return schema["oneOf"] !== undefined || schema["anyOf"] !== undefined || schema["allOf"] !== undefined;
}
