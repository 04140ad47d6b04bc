/**
 * Samples for the tests of this folder: a small schema with every kind of rule, and references that resolve to
 * canaries.
 */

import { formatProblem, type Read, type References, type Schema } from "../../../../src/server/core/config/index.ts";
import { type ReadOptions, readDocument } from "../../../../src/server/core/config/read-document.ts";
import {
  anything,
  choice,
  duration,
  flag,
  integer,
  list,
  map,
  mayBeSecret,
  notYet,
  number,
  object,
  referenceOnly,
  required,
  secret,
  text,
  withDefault,
} from "../../../../src/server/core/config/schema/schema.ts";

/** No part of it may ever appear in a problem. */
export const CANARY = "canary-7f3a9d-do-not-print-4c1e88";

export const references: References = {
  env: (name) => ({ NAME: "west", PORT: "80", KEY: CANARY })[name],
  secret: (name) =>
    name === "KEY" ? { kind: "value", value: CANARY } : { kind: "problem", message: "there is no such secret" },
  file: (name) =>
    name === "pem" ? { kind: "value", value: `${CANARY}\n` } : { kind: "problem", message: "there is no such file" },
};

export const sample = object("A sample.", {
  name: required(text("A name.", { maxLength: 8 })),
  title: mayBeSecret(text("A title.", { maxLength: 8 })),
  color: withDefault(choice("A colour.", ["red", "green"]), "red"),
  port: integer("A port.", { minimum: 1, maximum: 9 }),
  ratio: number("A ratio.", { exclusiveMinimum: 0, maximum: 1 }),
  on: flag("A flag."),
  wait: withDefault(duration("A wait."), "5s"),
  at: text("An address.", { format: "address" }),
  root: text("A root.", { format: "url" }),
  day: text("A day.", { format: "date" }),
  code: text("A code.", { pattern: "^[a-z]+$", examples: ["abc"] }),
  key: secret(text("A key.", { minLength: 4, pattern: "^[a-z0-9-]+$" })),
  token: referenceOnly(text("A token.")),
  raw: map("Raw values.", anything("Any value.")),
  tags: list("Tags.", text("A tag."), { minItems: 1, maxItems: 3, uniqueItems: true }),
  rules: object(
    "Keys with rules between them.",
    { a: text("A."), b: text("B."), c: text("C."), d: text("D."), e: text("E."), f: text("F.") },
    { exclusive: [["a", "b"]], oneOf: [["c", "d"]], together: [["e", "f"]] },
  ),
  inner: object("Defaults within.", { size: withDefault(integer("A size."), 3) }),
  later: notYet(object("Later.", { size: required(integer("A size.")), deeper: notYet(text("Deeper.")) })),
  later_default: withDefault(notYet(text("Later, with a default.")), "x"),
});

export function read<T>(schema: Schema<T>, text: string, options: Partial<ReadOptions<T>> = {}): Read<T> {
  return readDocument(schema, { name: "f", text }, references, { fileAllowed: true, ...options });
}

export const lines = (result: Read<unknown>): readonly string[] => result.problems.map(formatProblem);
