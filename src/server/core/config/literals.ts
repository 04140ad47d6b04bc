/**
 * Credentials that are written out where a reference was expected.
 *
 * Source: spec document 3 (credentials are not written literally where the document travels) and decisions, section 3:
 * such a literal is accepted with a warning that names its path, and refused where the key must be a reference.
 */

import type { Path } from "./problem.ts";
import { pathKey, type Written } from "./references.ts";
import type { JsonSchema } from "./schema.ts";
import { schemaBelow } from "./schema-below.ts";
import type { Tree } from "./tree.ts";

export interface Literal {
  readonly path: Path;
  readonly isRefused: boolean;
}

export function literalSecrets(
  schema: JsonSchema,
  tree: Tree,
  written: ReadonlyMap<string, Written>,
  path: Path = [],
): readonly Literal[] {
  const inside = (value: Tree, step: string | number) =>
    literalSecrets(schemaBelow(schema, step), value, written, [...path, step]);
  switch (tree.kind) {
    case "refused":
      return [];
    case "scalar": {
      const isLiteral = typeof tree.value === "string" && tree.value !== "" && !written.has(pathKey(path));
      return schema["x-secret"] !== undefined && isLiteral
        ? [{ path, isRefused: schema["x-secret"] === "reference" }]
        : [];
    }
    case "list":
      return tree.items.flatMap(inside);
    case "map":
      return [...tree.entries].flatMap(([key, { value }]) => inside(value, key));
    default:
      return tree satisfies never;
  }
}
