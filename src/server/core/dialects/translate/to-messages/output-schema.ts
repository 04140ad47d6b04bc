/**
 * A schema of structured output that a messages provider takes: every object says that it has no other properties. What is
 * valid by the narrowed schema is valid by the one that was given. Source: dialects reference, 8.1 (`json_schema`).
 */
import { isNarrow, isOfObjects } from "../../fidelity/forms.ts";
import type { JsonSource } from "../../json-source.ts";
import { objectOf, type Values } from "../../values.ts";

/** Members that hold schemas by name, and those that hold them in a list or alone. */
const NAMED: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);
const NESTED: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf", "prefixItems", "items"]);

/** `schema` is `isNarrowable`. As it is written, where nothing has to be added. */
export function narrowSchema(schema: Values, exact: JsonSource["exact"]): unknown {
  return isNarrow(schema) ? exact(schema) : narrowed(schema, exact);
}

function narrowed(schema: unknown, exact: JsonSource["exact"]): unknown {
  if (Array.isArray(schema)) return schema.map((part) => narrowed(part, exact));
  const node = objectOf(schema);
  if (node === undefined) return schema;
  const members = Object.entries(node).map(([name, value]): readonly [string, unknown] => {
    const named = NAMED.has(name) ? objectOf(value) : undefined;
    if (named !== undefined) return [name, mapped(named, exact)];
    return [name, NESTED.has(name) ? narrowed(value, exact) : exactPart(value, exact)];
  });
  const isOpen = isOfObjects(node) && node["additionalProperties"] === undefined;
  // Own members whatever their names are.
  return Object.fromEntries(isOpen ? [...members, ["additionalProperties", false]] : members);
}

function mapped(schemas: Values, exact: JsonSource["exact"]): unknown {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, narrowed(schema, exact)]));
}

function exactPart(value: unknown, exact: JsonSource["exact"]): unknown {
  return typeof value === "object" && value !== null ? exact(value) : value;
}
