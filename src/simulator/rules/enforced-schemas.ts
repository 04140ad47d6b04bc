/**
 * Rules by which the messages dialect refuses an enforced schema: that of a structured answer and of a strict tool.
 *
 * Source: platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema limitations". The wording is that of
 * refusals in public reports (agentjido/req_llm#302 and #706, sherifkozman/the-llm-council#55,
 * ghostlobster/memorize-everything#93) and of that page; where neither quotes one, it is the project's own.
 */

import { arrayOf, type Json, type JsonObject, objectOf, stringOf } from "../json-fields.ts";
import { strictFault } from "./strict-schemas.ts";

/** Maximum depth that is checked. The provider refuses deeper schemas because of their depth. */
const MAX_DEPTH = 64;

const BOUNDS: readonly string[] = [
  "exclusiveMaximum",
  "exclusiveMinimum",
  "maxItems",
  "maxLength",
  "maximum",
  "minLength",
  "minimum",
  "multipleOf",
  "uniqueItems",
];

/** Known formats; any other is refused. */
const FORMAT = /^(?:date-time|time|date|duration|email|hostname|uri|ipv4|ipv6|uuid)$/;

/** Returns the message of the refusal, or `undefined` if the schema is accepted. */
export function enforcedFault(schema: Json | undefined): string | undefined {
  if (strictFault(schema, { isAllRequired: false }) !== undefined) {
    return "For 'object' type, 'additionalProperties' must be explicitly set to false";
  }
  return faultWithin(schema, { root: schema, followed: [], valid: new Set(), depth: 0 });
}

interface Place {
  readonly root: Json | undefined;
  /** References on the path to the current schema. */
  readonly followed: readonly string[];
  /** References that were followed and found valid. Each is followed once. */
  readonly valid: Set<string>;
  readonly depth: number;
}

function faultWithin(value: Json | undefined, place: Place): string | undefined {
  const schema = objectOf(value);
  if (schema === undefined || place.depth > MAX_DEPTH) return undefined;
  return faultOf(schema) ?? faultOfReference(schema, place) ?? faultBelow(schema, place);
}

function faultOf(schema: JsonObject): string | undefined {
  const type = stringOf(schema["type"]) ?? "any";
  const bounds = BOUNDS.filter((name) => schema[name] !== undefined);
  if (bounds.length > 1) return `For '${type}' type, properties ${bounds.join(", ")} are not supported`;
  if (bounds.length === 1) return `For '${type}' type, property '${bounds[0]}' is not supported`;
  const { minItems, format } = schema;
  if (minItems !== undefined && minItems !== 0 && minItems !== 1) {
    return "For 'array' type, 'minItems' values other than 0 or 1 are not supported";
  }
  if (format !== undefined && !FORMAT.test(String(format))) return `String format '${String(format)}' is not supported`;
  const isPlain = (each: Json): boolean => typeof each !== "object" || each === null;
  return arrayOf(schema["enum"])?.every(isPlain) === false ? "Complex types within enums are not supported" : undefined;
}

function faultOfReference(schema: JsonObject, { root, followed, valid, depth }: Place): string | undefined {
  const ref = stringOf(schema["$ref"]);
  if (ref === undefined || valid.has(ref)) return undefined;
  if (!ref.startsWith("#")) return `External $ref '${ref.slice(0, 128)}' is not supported`;
  if (ref === "#" || followed.includes(ref)) return "Too many recursive definitions in schema";
  const [, word = "", name = ""] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? [];
  const target = objectOf(objectOf(root)?.[word])?.[name];
  const fault = faultWithin(target, { root, followed: [...followed, ref], valid, depth: depth + 1 });
  if (fault === undefined) valid.add(ref);
  return fault;
}

function faultBelow(schema: JsonObject, place: Place): string | undefined {
  const deeper = { ...place, depth: place.depth + 1 };
  // Definitions are checked where they are used.
  const parts = [...Object.values(objectOf(schema["properties"]) ?? {}), schema["items"]];
  for (const word of ["anyOf", "oneOf", "allOf", "prefixItems"]) parts.push(...(arrayOf(schema[word]) ?? []));
  for (const part of parts) {
    const fault = faultWithin(part, deeper);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
