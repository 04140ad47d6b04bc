/** YAML document of settings as values with positions, and its faults, each with a remedy. */

import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import { closestName, escapeControls } from "../../base/index.ts";

export interface Fault {
  /** Line and column, from 1. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly remedy: string;
}

export type Read<T> =
  | { readonly kind: "good"; readonly value: T }
  | { readonly kind: "bad"; readonly faults: readonly [Fault, ...Fault[]] };

/** Maximum length of a text, in UTF-16 units. */
const MAX_TEXT = 4_096;
const MAX_FAULTS = 20;

/** Node of the document; `undefined` if there is none. */
export type Node = unknown;

export interface Reader {
  fault(node: Node, message: string, remedy: string): void;
  /** Returns a text; `undefined` if there is none. Reports a value of another type. */
  text(node: Node, what: string): string | undefined;
  boolean(node: Node, what: string): boolean | undefined;
  /** Returns the entries with the node of each name. */
  entries(node: Node, what: string): readonly (readonly [name: string, value: Node, at: Node])[];
  items(node: Node, what: string): readonly Node[];
  /** Returns the values of a mapping with these names; reports other names. */
  fields(node: Node, names: readonly string[], what: string): Readonly<Record<string, Node>>;
}

export function readDocument<T>(text: string, read: (root: Node, reader: Reader) => T): Read<T> {
  const lines = new LineCounter();
  const faults: Fault[] = [];
  const add = (offset: number, message: string, remedy: string): void => {
    const { line, col } = lines.linePos(offset);
    if (faults.length < MAX_FAULTS)
      faults.push({ line: Math.max(1, line), column: Math.max(1, col), message: escapeControls(message), remedy });
  };
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, prettyErrors: false });
  for (const { pos, message } of [...document.errors, ...document.warnings]) {
    add(pos[0], `not valid YAML: ${message}`, "correct the line; put texts with special characters in quotes");
  }
  const value = faults.length === 0 ? read(document.contents, readerOf(add)) : undefined;
  const [first, ...others] = faults;
  if (first !== undefined) return { kind: "bad", faults: [first, ...others] };
  return { kind: "good", value: value as T };
}

function readerOf(add: (offset: number, message: string, remedy: string) => void): Reader {
  const fault: Reader["fault"] = (node, message, remedy) => add(offsetOf(node), message, remedy);
  const isNone = (node: Node): boolean =>
    node === undefined || node === null || (isScalar(node) && (node.value === null || node.value === undefined));

  function entries(node: Node, what: string): readonly (readonly [string, Node, Node])[] {
    if (isNone(node)) return [];
    if (isAlias(node) || !isMap(node)) {
      fault(node, `${what} is not a mapping`, "write names with values, one per line");
      return [];
    }
    return node.items.flatMap(({ key, value }) => {
      if (isScalar(key) && (typeof key.value === "string" || typeof key.value === "number"))
        return [[String(key.value), value, key] as const];
      fault(key, `a name in ${what} is not a text`, "write a plain name before the colon");
      return [];
    });
  }

  return {
    fault,
    entries,
    text(node, what) {
      if (isNone(node)) return undefined;
      if (isScalar(node) && (typeof node.value === "string" || typeof node.value === "number")) {
        const text = String(node.value);
        if (text.length <= MAX_TEXT && !text.includes("\0")) return text;
        fault(node, `${what} is too long, or has a NUL in it`, `give at most ${MAX_TEXT} characters`);
      } else fault(node, `${what} is not a text`, "write one text, in quotes if it contains : # { or [");
      return undefined;
    },
    boolean(node, what) {
      if (isNone(node)) return undefined;
      if (isScalar(node) && typeof node.value === "boolean") return node.value;
      fault(node, `${what} is neither true nor false`, "write true or false");
      return undefined;
    },
    items(node, what) {
      if (isNone(node)) return [];
      if (isSeq(node)) return node.items;
      fault(node, `${what} is not a list`, "begin each item with a dash");
      return [];
    },
    fields(node, names, what) {
      const found: Record<string, Node> = {};
      for (const [name, value, at] of entries(node, what)) {
        if (names.includes(name)) found[name] = value;
        else {
          const meant = closestName(name, names);
          fault(
            at,
            `${what} has no '${name}'`,
            meant === undefined ? `it has ${names.join(", ")}` : `did you mean '${meant}'?`,
          );
        }
      }
      return found;
    },
  };
}

function offsetOf(node: Node): number {
  const range: unknown = typeof node === "object" && node !== null ? Reflect.get(node, "range") : undefined;
  const start: unknown = Array.isArray(range) ? range[0] : undefined;
  return typeof start === "number" ? start : 0;
}
