/** The result of an import: the document as a value, its variables, and its notes as lines. */

import assert from "node:assert/strict";
import { parse } from "yaml";
import { importConfiguration, type System } from "../../../src/cli/import/index.ts";

interface ImportResult {
  readonly document: Record<string, unknown>;
  readonly text: string;
  /** `LINE PATH` in source order, without the note that every document without `auth` has. */
  readonly notes: readonly string[];
  readonly messages: string;
  readonly variables: readonly string[];
}

export function imported(system: System, text: string, presets: Readonly<Record<string, string>> = {}): ImportResult {
  const result = importConfiguration(system, { name: "source", text }, new Map(Object.entries(presets)));
  assert.equal(result.kind, "imported", JSON.stringify(result));
  if (result.kind !== "imported") throw new Error("unreachable");
  const own = result.notes.filter(({ message }) => !message.startsWith(WITHOUT_AUTH));
  return {
    document: parse(result.text) as Record<string, unknown>,
    text: result.text,
    notes: own.map(({ line, path }) => `${line} ${path}`),
    messages: own.map(({ message }) => message).join("\n"),
    variables: [...result.variables.keys()].sort(),
  };
}

const WITHOUT_AUTH = "the document has no `auth`, so anybody who reaches the gateway can use the keys of its providers";

export const ALL = ["connect", "5xx", "429", "timeout"];
