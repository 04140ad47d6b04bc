/**
 * Finds credentials that are written literally where a reference was expected.
 *
 * Source: spec document 3 (credentials are not written literally in documents that are passed around) and decisions, section 3:
 * such a literal is accepted with a warning that names its path, and refused if the key must be a reference.
 */

import type { Path } from "../problem.ts";
import { pathKey, type Written } from "../references/value-references.ts";
import type { JsonSchema } from "../schema/schema.ts";
import { schemaBelow } from "../schema/schema-below.ts";
import type { Tree } from "./located-tree.ts";

interface Literal {
  readonly path: Path;
  readonly isRefused: boolean;
  /** True if the text also contains a reference. */
  readonly isPart: boolean;
  /** True if the text is a reference in the notation of a shell or of another program, which is not one here. */
  readonly isForeignReference: boolean;
}

/** Matches `$KEY`, `$(cat key)`, `%KEY%`, `{{ key }}`, `os.environ/KEY` and `env.KEY`. */
const FOREIGN_REFERENCE = /^\s*(?:\$\w+|\$\(.*\)|%\w+%|\{\{.*\}\}|os\.environ\/\w+|env\.\w+)\s*$/;

/** Matches words that introduce a credential, such as `Bearer ` before a token. */
const SCHEME = /^\s*(?:bearer|basic|token|apikey|api-key|digest|negotiate)\s+/i;

/** Returns true if the text contains more than references and a word such as `Bearer`. */
const holdsLiteral = (text: string): boolean =>
  text
    .replace(/\$\{[^{}]*\}/g, "")
    .replace(SCHEME, "")
    .trim() !== "";

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
      if (schema["x-secret"] === undefined || typeof tree.value !== "string") return [];
      const isReference = written.has(pathKey(path));
      if (isReference ? !holdsLiteral(tree.value) : tree.value === "") return [];
      return [
        {
          path,
          isRefused: schema["x-secret"] === "reference" && !isReference,
          isPart: isReference,
          isForeignReference: FOREIGN_REFERENCE.test(tree.value),
        },
      ];
    }
    case "list":
      return tree.items.flatMap(inside);
    case "map":
      return [...tree.entries].flatMap(([key, { value }]) => inside(value, key));
    default:
      return tree satisfies never;
  }
}
