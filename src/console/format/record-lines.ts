/** Answers of the admin API as lines of a page: JSON or fields. */

import { escapeControls } from "../../base/index.ts";
import { type Line, line, span } from "../model/text.ts";
import { padTo } from "./cut-text.ts";

/** Returns the lines of a row as JSON. */
export function linesOfJson(json: unknown): readonly Line[] {
  return (JSON.stringify(json, null, 2) ?? "null").split("\n").map((text) => line(escapeControls(text)));
}

/** Returns one line per field with its name; objects and lists are below their name. */
export function linesOfFields(json: unknown): readonly Line[] {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return linesOfJson(json);
  const fields = Object.entries(json).map(([name, value]) => [escapeControls(name), value] as const);
  const cells = Math.min(MAX_NAME_CELLS, Math.max(0, ...fields.map(([name]) => name.length)));
  return fields.flatMap(([name, value]) => {
    const head = span(`${padTo(name, cells)}  `, "dim");
    const [first = [], ...more] =
      typeof value === "string" ? [line(escapeControls(value))] : linesOfJson(value ?? null);
    const indent = span(" ".repeat(cells + 2));
    return [[head, ...first], ...more.map((one) => [indent, ...one])];
  });
}

const MAX_NAME_CELLS = 24;
