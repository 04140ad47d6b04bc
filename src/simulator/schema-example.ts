/**
 * Generates a value that matches a JSON Schema, for the arguments of tool calls and for structured answers.
 *
 * Covers what tools use: type, enum, const, default, examples, properties, required, items, prefixItems, bounds, formats,
 * anyOf, oneOf, allOf and references within the document. `pattern`, `not` and conditions are not solved. The result is
 * deterministic. Depth and number of nodes are bounded, since schemas are untrusted input and may refer to themselves.
 */

import { arrayOf, integerOf, type Json, type JsonObject, objectOf, stringOf } from "./json-fields.ts";

/** Depth below which only required members are filled in. A schema that requires itself ends at twice this depth. */
const FULL_DEPTH = 5;

const MAX_NODES = 1_000;

const MAX_STRING_LENGTH = 10_000;

const FORMATS: Readonly<Record<string, string>> = {
  "date-time": "2026-01-01T12:00:00Z",
  date: "2026-01-01",
  time: "12:00:00Z",
  duration: "P1D",
  email: "someone@example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/",
  url: "https://example.com/",
  uuid: "00000000-0000-4000-8000-000000000000",
};

interface Generation {
  readonly root: Json;
  nodes: number;
}

/** Returns an example of a schema. For `undefined` or `{}` it is an empty object, which tools without parameters accept. */
export function exampleOf(schema: Json | undefined): Json {
  if (schema === undefined) return {};
  const example = exampleAt(schema, "", 0, { root: schema, nodes: 0 });
  return example ?? {};
}

function exampleAt(schema: Json | undefined, name: string, depth: number, generation: Generation): Json {
  generation.nodes += 1;
  const node = objectOf(schema);
  if (node === undefined || generation.nodes > MAX_NODES || depth > 2 * FULL_DEPTH) return null;
  const fixed = node["const"] ?? arrayOf(node["enum"])?.[0] ?? node["default"] ?? arrayOf(node["examples"])?.[0];
  if (fixed !== undefined) return fixed;
  const reference = stringOf(node["$ref"]);
  if (reference !== undefined) return exampleAt(resolve(generation.root, reference), name, depth + 1, generation);
  const choice = arrayOf(node["anyOf"]) ?? arrayOf(node["oneOf"]);
  if (choice !== undefined) {
    const alternative = choice.find((each) => objectOf(each)?.["type"] !== "null");
    return exampleAt(merge([withoutChoice(node), objectOf(alternative) ?? {}]), name, depth + 1, generation);
  }
  const all = arrayOf(node["allOf"]);
  if (all !== undefined) {
    const parts = all.map((each) => {
      const target = stringOf(objectOf(each)?.["$ref"]);
      return objectOf(target === undefined ? each : resolve(generation.root, target)) ?? {};
    });
    const { allOf: _, ...rest } = node;
    return exampleAt(merge([rest, ...parts]), name, depth + 1, generation);
  }
  return exampleOfType(typeOf(node), node, name, depth, generation);
}

function exampleOfType(type: string, node: JsonObject, name: string, depth: number, generation: Generation): Json {
  if (type === "string") return stringExample(node, name);
  if (type === "integer" || type === "number") return numberExample(node, type === "integer");
  if (type === "boolean") return true;
  if (type === "null") return null;
  if (type === "array") return arrayExample(node, name, depth, generation);
  return objectExample(node, depth, generation);
}

function typeOf(node: JsonObject): string {
  const type = node["type"];
  const named = stringOf(type) ?? stringOf(arrayOf(type)?.find((each) => each !== "null"));
  if (named !== undefined) return named;
  if (node["items"] !== undefined || node["prefixItems"] !== undefined) return "array";
  if (node["minimum"] !== undefined || node["maximum"] !== undefined) return "number";
  if (node["format"] !== undefined || node["minLength"] !== undefined) return "string";
  return "object";
}

function objectExample(node: JsonObject, depth: number, generation: Generation): Json {
  const properties = objectOf(node["properties"]) ?? {};
  const required = (arrayOf(node["required"]) ?? []).filter((key) => typeof key === "string");
  const names = depth < FULL_DEPTH ? new Set([...Object.keys(properties), ...required]) : new Set(required);
  const entries: [string, Json][] = [];
  for (const key of names) {
    if (generation.nodes > MAX_NODES) break;
    entries.push([key, exampleAt(properties[key] ?? { type: "string" }, key, depth + 1, generation)]);
  }
  return Object.fromEntries(entries);
}

function arrayExample(node: JsonObject, name: string, depth: number, generation: Generation): Json {
  const first = arrayOf(node["prefixItems"]) ?? [];
  const max = integerOf(node["maxItems"]) ?? Number.POSITIVE_INFINITY;
  const wanted = Math.max(integerOf(node["minItems"]) ?? 0, first.length, depth < FULL_DEPTH && node["items"] ? 1 : 0);
  const items: Json[] = [];
  while (items.length < Math.min(wanted, max) && generation.nodes <= MAX_NODES) {
    items.push(
      exampleAt(first[items.length] ?? objectOf(node["items"]) ?? { type: "string" }, name, depth + 1, generation),
    );
  }
  return items;
}

function stringExample(node: JsonObject, name: string): string {
  const formatted = FORMATS[stringOf(node["format"]) ?? ""];
  if (formatted !== undefined) return formatted;
  const text = name === "" ? "simulated" : `simulated ${name}`;
  const min = Math.min(integerOf(node["minLength"]) ?? 0, MAX_STRING_LENGTH);
  const max = integerOf(node["maxLength"]) ?? MAX_STRING_LENGTH;
  return text.padEnd(min, ".").slice(0, Math.max(max, 0));
}

function numberExample(node: JsonObject, isInteger: boolean): number {
  const above = bound(node["exclusiveMinimum"]);
  const below = bound(node["exclusiveMaximum"]);
  const low = Math.max(bound(node["minimum"]) ?? -Infinity, above ?? -Infinity);
  const high = Math.min(bound(node["maximum"]) ?? Infinity, below ?? Infinity);
  const near = Math.min(Math.max(1, low), high);
  const step = positive(node["multipleOf"]) ?? (isInteger ? 1 : undefined);
  if (step === undefined) {
    if (near !== above && near !== below) return near;
    return Number.isFinite(low + high) ? (low + high) / 2 : near + (near === above ? 1 : -1);
  }
  let value = Math.ceil(near / step) * step;
  if (value === above) value += step;
  if (value > high) value = Math.floor(high / step) * step;
  if (value === below) value -= step;
  return value;
}

function bound(value: Json | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function positive(value: Json | undefined): number | undefined {
  return typeof value === "number" && value > 0 ? value : undefined;
}

/** Resolves a JSON pointer within the document (RFC 6901). Other references are not followed. */
function resolve(root: Json, reference: string): Json | undefined {
  if (!reference.startsWith("#")) return undefined;
  let at: Json | undefined = root;
  for (const step of reference.split("/").slice(1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    at = objectOf(at)?.[key] ?? arrayOf(at)?.[Number(key)];
  }
  return at;
}

function withoutChoice(node: JsonObject): JsonObject {
  const { anyOf: _, oneOf: __, ...rest } = node;
  return rest;
}

/** Merges parts of a schema. Later parts take precedence, but properties and required names are combined. */
function merge(parts: readonly JsonObject[]): JsonObject {
  const merged: Record<string, Json | undefined> = {};
  for (const part of parts) {
    for (const [key, value] of Object.entries(part)) {
      if (key === "properties") merged[key] = { ...objectOf(merged[key]), ...objectOf(value) };
      else if (key === "required") merged[key] = [...(arrayOf(merged[key]) ?? []), ...(arrayOf(value) ?? [])];
      else merged[key] = value;
    }
  }
  return merged;
}
