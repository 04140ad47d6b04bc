/** Fills the defaults of a schema into a valid value, in place, including the defaults of added objects and lists. */

import type { JsonSchema } from "./schema.ts";

export function fillDefaults(schema: JsonSchema, value: unknown): void {
  if (Array.isArray(value)) {
    if (isSchema(schema.items)) for (const item of value) fillDefaults(schema.items, item);
    return;
  }
  if (!isRecord(value)) return;
  const properties = isRecord(schema.properties) ? schema.properties : {};
  for (const [name, property] of Object.entries(properties)) {
    if (!isSchema(property)) continue;
    if (!Object.hasOwn(value, name) && "default" in property) value[name] = structuredClone(property.default);
    if (Object.hasOwn(value, name)) fillDefaults(property, value[name]);
  }
  if (!isSchema(schema.additionalProperties)) return;
  for (const [name, item] of Object.entries(value)) {
    if (!Object.hasOwn(properties, name)) fillDefaults(schema.additionalProperties, item);
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isSchema = (value: unknown): value is JsonSchema => isRecord(value);
