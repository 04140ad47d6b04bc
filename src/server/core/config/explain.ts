/**
 * Turns the validator's errors into sentences, each once, without errors that only follow from another.
 *
 * Values are shown only where that is safe: never for a key that contains a credential, never for a value from a reference (its
 * text as written is shown instead), and never for whole objects and lists.
 */

import { closestName } from "../../../base/index.ts";
import { enumerated, type Path, shown } from "./problem.ts";
import { pathKey, type Written } from "./references/value-references.ts";
import { type Breach, breaches, type RuleName } from "./schema/key-rules.ts";
import type { Format, JsonSchema } from "./schema/schema.ts";
import { FORMATS } from "./schema/string-formats.ts";
import type { ErrorObject } from "./schema/validate.ts";

export interface Finding {
  readonly path: Path;
  /** `key` if the key itself is wrong, `value` if its value is. */
  readonly at: "key" | "value";
  readonly message: string;
  /** True if the value is valid but this version lacks the function. */
  readonly isNotYet?: boolean;
}

interface Explaining {
  readonly written: ReadonlyMap<string, Written>;
  /** Returns a message for an unknown key that replaces the usual one. */
  readonly unknownKey?: (path: Path, key: string) => string | undefined;
}

/** Validator's error with a path of the document. */
export interface Located {
  readonly path: Path;
  readonly error: ErrorObject;
}

export function explain(errors: readonly Located[], explaining: Explaining): readonly Finding[] {
  const guesses = guessedKeys(errors);
  return errors.flatMap((located) => {
    const { error, path } = located;
    const written = explaining.written.get(pathKey(path));
    switch (error.keyword) {
      case "additionalProperties":
        return [unknownKey(located, explaining)];
      case "required": {
        const key = String(error.params["missingProperty"]);
        return guesses.has(pathKey([...path, key]))
          ? []
          : [{ path, at: "value" as const, message: `the required key \`${key}\` is missing` }];
      }
      case "x-exclusive":
      case "x-one-of":
      case "x-together":
        return breaches(error.keyword, error.schema as readonly (readonly string[])[], error.data as object)
          .filter(
            ({ absent, present }) => present.length > 0 || !absent.some((key) => guesses.has(pathKey([...path, key]))),
          )
          .map((breach) => ruleFinding(error.keyword as RuleName, path, breach, error.data as object));
      case "x-not-yet":
        return [{ path, at: "key" as const, message: "", isNotYet: true }];
      case "uniqueItems": {
        const { i, j } = error.params as { readonly i: number; readonly j: number };
        const [first, second] = [Math.min(i, j), Math.max(i, j)];
        return [{ path: [...path, second], at: "value" as const, message: `is the same as item ${first}` }];
      }
      default:
        return [{ path, at: "value" as const, message: valueMessage(error, written) }];
    }
  });
}

/** Returns the paths of keys that an unknown key was probably meant to be. They need not be reported as missing too. */
function guessedKeys(errors: readonly Located[]): ReadonlySet<string> {
  const guesses = new Set<string>();
  for (const { path, error } of errors) {
    if (error.keyword !== "additionalProperties") continue;
    const guess = closestName(String(error.params["additionalProperty"]), keysOf(error));
    if (guess !== undefined) guesses.add(pathKey([...path, guess]));
  }
  return guesses;
}

const keysOf = (error: ErrorObject): readonly string[] =>
  Object.keys((error.parentSchema?.["properties"] as object | undefined) ?? {});

function unknownKey({ path, error }: Located, { unknownKey: more }: Explaining): Finding {
  const key = String(error.params["additionalProperty"]);
  const keys = keysOf(error);
  // Keys are looked up and not searched: an object may have 100,000 keys, and this runs for each unknown one.
  const written = error.data as object;
  const guess = closestName(
    key,
    keys.filter((name) => !Object.hasOwn(written, name)),
  );
  const hint = guess === undefined ? "" : `, did you mean \`${guess}\`?`;
  const allowed = keys.length === 0 ? "no key is allowed here" : `allowed: ${keys.join(", ")}`;
  const message = more?.(path, key) ?? `unknown key ${shown(key)}${hint === "" ? "; " : `${hint} `}${allowed}`;
  return { path: [...path, key], at: "key", message };
}

/**
 * Returns the finding for a broken rule: at the last of the keys if too many are present, or at the object if one is missing.
 */
function ruleFinding(rule: RuleName, path: Path, { present, message }: Breach, object: object): Finding {
  const last = Object.keys(object).findLast((key) => present.includes(key));
  return last === undefined || rule === "x-together"
    ? { path, at: "value", message }
    : { path: [...path, last], at: "key", message };
}

function valueMessage(error: ErrorObject, written: Written | undefined): string {
  const schema: JsonSchema = error.parentSchema ?? {};
  const found = foundText(error, written);
  switch (error.keyword) {
    case "type":
      return typeMessage(error, written, found);
    case "enum": {
      const values = (error.schema as readonly unknown[]).map(String);
      const guess =
        typeof error.data === "string" && mayShow(error, written) ? closestName(error.data, values) : undefined;
      const hint = guess === undefined ? "" : `; did you mean \`${guess}\`?`;
      return `expected ${enumerated(
        values.map((value) => value || '""'),
        "or",
      )}, found ${found}${hint}`;
    }
    case "format":
      return `expected ${FORMATS[error.schema as Format].expected}, found ${found}`;
    case "pattern": {
      const example = (schema["examples"] as readonly string[] | undefined)?.[0];
      const such = example === undefined ? "" : ` such as ${shown(example)}`;
      return `expected a text${such} that matches \`${String(error.schema)}\`, found ${found}`;
    }
    case "minLength":
      return error.data === "" ? "must not be empty" : `must have at least ${String(error.schema)} characters`;
    case "maxLength":
      return `must have at most ${String(error.schema)} characters`;
    case "minItems":
    case "maxItems": {
      const limit = Number(error.schema);
      const bound = error.keyword === "minItems" ? "at least" : "at most";
      return `expected ${bound} ${limit} ${limit === 1 ? "item" : "items"}, found ${(error.data as unknown[]).length}`;
    }
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
      return `expected ${rangeText(schema)}, found ${found}`;
    default:
      return error.message ?? `breaks the rule \`${error.keyword}\``;
  }
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: "a text",
  integer: "an integer",
  number: "a number",
  boolean: "`true` or `false`",
  array: "a list",
  object: "an object",
  null: "nothing",
};

function typeMessage(error: ErrorObject, written: Written | undefined, found: string): string {
  const types = [error.schema].flat().map(String);
  const expected = types.map((type) => TYPE_NAMES[type] ?? type).join(" or ");
  if (written !== undefined) {
    const isScalar = types.some((type) => ["integer", "number", "boolean"].includes(type));
    return `expected ${expected}, found ${found}${isScalar ? "; a reference is replaced by a text and cannot be used here" : ""}`;
  }
  if (types.includes("string")) {
    // Numbers were replaced by their text before validation, so only booleans get this hint.
    const hint = typeof error.data === "boolean" ? "; write it in quotes" : "";
    return `expected ${expected}, found ${kindOf(error.data)}${hint}`;
  }
  const isContainer = types.every((type) => type === "array" || type === "object");
  return `expected ${expected}, found ${isContainer ? kindOf(error.data) : found}`;
}

function rangeText(schema: JsonSchema): string {
  const { minimum, maximum, exclusiveMinimum } = schema as Readonly<Record<string, number | undefined>>;
  const lower = minimum !== undefined ? `at least ${minimum}` : undefined;
  const above = exclusiveMinimum !== undefined ? `more than ${exclusiveMinimum}` : undefined;
  const upper = maximum !== undefined ? `at most ${maximum}` : undefined;
  return [lower, above, upper].filter((part) => part !== undefined).join(" and ");
}

const mayShow = (error: ErrorObject, written: Written | undefined): boolean =>
  written === undefined && error.parentSchema?.["x-secret"] === undefined;

function foundText(error: ErrorObject, written: Written | undefined): string {
  if (written !== undefined) {
    return written.references.length === 0
      ? "a reference"
      : `the value of ${enumerated(written.references.slice(0, 4), "and")}`;
  }
  if (!mayShow(error, written)) return "a value that is not shown";
  if (typeof error.data === "string") return shown(error.data);
  return typeof error.data === "number" || typeof error.data === "boolean" ? String(error.data) : kindOf(error.data);
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  return { string: "a text", number: "a number", boolean: "a boolean" }[typeof value as string] ?? "an object";
}
