/**
 * Splits a schema into pieces, each of which is compiled when a value first needs it: compiling the whole deployment schema
 * takes half a second, and a document uses only a few of its objects.
 */

import { isSchema } from "./schema/defaults.ts";
import type { JsonSchema } from "./schema/schema.ts";

/** Minimum size of a piece, in characters of JSON. A smaller one costs more as a piece than within its parent. */
const MIN_SIZE = 1_000;

const sizes = new WeakMap<JsonSchema, number>();

/** Returns whether a value is validated with this schema separately from its parent. */
export function isPiece(schema: JsonSchema): boolean {
  if (!isSchema(schema["properties"])) return false;
  let size = sizes.get(schema);
  if (size === undefined) {
    size = JSON.stringify(schema).length;
    sizes.set(schema, size);
  }
  return size >= MIN_SIZE;
}

/** Returns the schema with `{}` for every piece below it. Pieces within an alternative stay in place. */
export function withoutPieces(schema: JsonSchema): JsonSchema {
  const { properties, items, additionalProperties } = schema;
  return {
    ...schema,
    ...(isSchema(properties) && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, below]) => [name, emptied(below)])),
    }),
    ...(isSchema(items) && { items: emptied(items) }),
    ...(isSchema(additionalProperties) && { additionalProperties: emptied(additionalProperties) }),
  };
}

function emptied(schema: unknown): unknown {
  if (!isSchema(schema)) return schema;
  return isPiece(schema) ? {} : withoutPieces(schema);
}
