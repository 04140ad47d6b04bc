/** Steps down a schema in parallel with the value that it describes. */

import { isSchema } from "./defaults.ts";
import type { JsonSchema } from "./schema.ts";

/** Returns the schema of a member or an item; an empty one if none is defined. */
export function schemaBelow(schema: JsonSchema, step: string | number): JsonSchema {
  if (typeof step === "number") return schemaOr(schema["items"]);
  const properties = schemaOr(schema["properties"]);
  return schemaOr(Object.hasOwn(properties, step) ? properties[step] : schema["additionalProperties"]);
}

const schemaOr = (value: unknown): JsonSchema => (isSchema(value) ? value : {});
