/**
 * Converts a schema to one that a messages provider enforces: every object excludes other properties, and bounds, which the
 * provider refuses, move into the description. Apart from the bounds, every value that the given schema allows is allowed by
 * this one. Source: dialects reference, 8.1 (`json_schema`); the wording of the bounds is that of the provider's own SDK
 * (@anthropic-ai/sdk, `lib/transform-json-schema`).
 *
 * The text is changed and not the parsed values, so that unchanged parts keep their spelling and order.
 */
import {
  describesObject,
  isAcceptedByMessages,
  isBound,
  isIneffectiveBound,
  NAMED_SCHEMAS,
  NESTED_SCHEMAS,
} from "../../fidelity/schemas.ts";
import { JsonCursor } from "../../json/json-cursor.ts";
import { type JsonSource, jsonText, Verbatim } from "../../json/json-source.ts";
import { listOf, objectOf, stringOf, type Values } from "../../json/json-values.ts";

const NAMED: ReadonlySet<string> = new Set(NAMED_SCHEMAS);
const NESTED: ReadonlySet<string> = new Set(NESTED_SCHEMAS);

/** Returns the narrowed schema. `schema` is `isExpressibleInMessages`. It keeps its text if nothing has to be changed. */
export function narrowSchema(schema: Values, exact: JsonSource["exact"]): unknown {
  const original = exact(schema);
  return isAcceptedByMessages(schema)
    ? original
    : new Verbatim(narrowValue(new JsonCursor(jsonText(original)), schema));
}

/**
 * Narrows a schema, or a list of schemas. `parsedValue` is the parsed value at the cursor. If a name occurs twice in an object,
 * `parsedValue` is the last one's value, which is the one that is kept.
 */
function narrowValue(at: JsonCursor, parsedValue: unknown): string {
  const { firstChar: first } = at;
  if (first === "[") return `[${at.mapItems((index) => narrowValue(at, listOf(parsedValue)[index])).join(",")}]`;
  return first === "{" ? narrowObject(at, objectOf(parsedValue) ?? {}) : at.skip();
}

function narrowObject(at: JsonCursor, node: Values): string {
  const members = new Map<string, string>();
  const boundTexts: string[] = [];
  at.visitMembers((name) => {
    const value = node[name];
    if (isIneffectiveBound(name, value)) at.skip();
    else if (isBound(name, value)) boundTexts.push(`${name}: ${at.skip()}`);
    else if (NAMED.has(name)) members.set(name, narrowNamedSchemas(at, value));
    else members.set(name, NESTED.has(name) ? narrowValue(at, value) : at.skip());
  });
  if (boundTexts.length > 0) {
    const description = stringOf(node["description"]) ?? "";
    members.set("description", JSON.stringify(`${description && `${description}\n\n`}{${boundTexts.join(", ")}}`));
  }
  if (describesObject(node) && node["additionalProperties"] === undefined) members.set("additionalProperties", "false");
  return objectText(members);
}

function narrowNamedSchemas(at: JsonCursor, value: unknown): string {
  if (at.firstChar !== "{") return at.skip();
  const schemas = objectOf(value) ?? {};
  const members = new Map<string, string>();
  at.visitMembers((name) => members.set(name, narrowValue(at, schemas[name])));
  return objectText(members);
}

const objectText = (members: ReadonlyMap<string, string>): string =>
  `{${Array.from(members, ([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
