/**
 * Turns an unquoted number into its text as written where a text is expected: `when: [connect, 429]`, `node_id: 1`. YAML readers
 * in other languages do the same.
 */

import { isSchema } from "../schema/defaults.ts";
import type { JsonSchema } from "../schema/schema.ts";
import type { Entry, Tree } from "./located-tree.ts";

export function numbersAsTexts(schema: JsonSchema, tree: Tree): Tree {
  switch (tree.kind) {
    case "scalar":
      return schema.type === "string" && tree.written !== undefined
        ? { kind: "scalar", at: tree.at, value: tree.written }
        : tree;
    case "list": {
      const { items } = schema;
      return isSchema(items) ? { ...tree, items: tree.items.map((item) => numbersAsTexts(items, item)) } : tree;
    }
    case "map": {
      const properties = isSchema(schema.properties) ? schema.properties : {};
      const entries = new Map<string, Entry>();
      for (const [name, entry] of tree.entries) {
        const below = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
        entries.set(name, isSchema(below) ? { ...entry, value: numbersAsTexts(below, entry.value) } : entry);
      }
      return { ...tree, entries };
    }
    case "refused":
      return tree;
    default:
      return tree satisfies never;
  }
}
