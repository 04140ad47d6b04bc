/**
 * Validates a value by one of our schemas with ajv, and returns every error.
 *
 * Compiling a schema generates code, which takes milliseconds for each object, so each piece of a schema is compiled once, on
 * first use. Ajv does not fill in defaults: it would do so before the rules between keys are checked, and they would count as
 * written.
 */

import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { isPiece, withoutPieces } from "../schema-pieces.ts";
import { isSchema } from "./defaults.ts";
import { breaches, RULE_NAMES } from "./key-rules.ts";
import type { JsonSchema } from "./schema.ts";
import { schemaBelow } from "./schema-below.ts";
import { FORMATS } from "./string-formats.ts";

export type { ErrorObject };

/**
 * Ajv options. The schemas are ours, and tests check them against the meta-schema; doing so at every start would take as long as
 * compiling them. A document is checked once or twice, so optimizing the generated code would cost more than it saves.
 */
const TRUSTED = { meta: false, validateSchema: false, code: { optimize: false } } as const;

let ajv: Ajv2020 | undefined;
const compiled = new WeakMap<JsonSchema, ValidateFunction>();

export function validate(schema: JsonSchema, value: unknown): readonly ErrorObject[] {
  const errors: ErrorObject[] = [];
  checkPiece(schema, value, { instance: "", schema: "#" }, errors);
  return errors;
}

/** JSON pointers to a value and to its schema. */
interface At {
  readonly instance: string;
  readonly schema: string;
}

function checkPiece(schema: JsonSchema, value: unknown, at: At, errors: ErrorObject[]): void {
  let check = compiled.get(schema);
  if (check === undefined) {
    ajv ??= validator();
    check = ajv.compile(withoutPieces(schema));
    compiled.set(schema, check);
  }
  if (!check(value)) {
    for (const error of check.errors ?? []) {
      errors.push({
        ...error,
        instancePath: at.instance + error.instancePath,
        schemaPath: at.schema + error.schemaPath.slice(1),
      });
    }
  }
  checkBelow(schema, value, at, errors);
}

/** Checks the parts of a value that have a separately compiled schema (pieces). The value itself was already checked. */
function checkBelow(schema: JsonSchema, value: unknown, at: At, errors: ErrorObject[]): void {
  if (typeof value !== "object" || value === null) return;
  const steps = Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [step, item] of steps) {
    const below = schemaBelow(schema, step);
    const there = { instance: `${at.instance}/${escaped(step)}`, schema: `${at.schema}/${keywordOf(schema, step)}` };
    if (isPiece(below)) checkPiece(below, item, there, errors);
    else checkBelow(below, item, there, errors);
  }
}

function keywordOf(schema: JsonSchema, step: string | number): string {
  if (typeof step === "number") return "items";
  const { properties } = schema;
  return isSchema(properties) && Object.hasOwn(properties, step)
    ? `properties/${escaped(step)}`
    : "additionalProperties";
}

/** Escapes a step of a JSON pointer (RFC 6901). */
const escaped = (step: string | number): string => String(step).replaceAll("~", "~0").replaceAll("/", "~1");

/** Creates an ajv instance that reports every error of every value with its schema. Use it only for our own schemas. */
export function validator(): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    allErrors: true,
    allowUnionTypes: true,
    discriminator: true,
    verbose: true,
    ...TRUSTED,
    formats: Object.fromEntries(Object.entries(FORMATS).map(([name, { check }]) => [name, check])),
  });
  ajv.addVocabulary(["x-secret", "x-references", "x-assumed", "x-empty"]);
  ajv.addKeyword({ keyword: "x-not-yet", schemaType: "boolean", validate: () => false });
  for (const rule of RULE_NAMES) {
    ajv.addKeyword({
      keyword: rule,
      type: "object",
      schemaType: "array",
      validate: (groups: readonly (readonly string[])[], object: object) => breaches(rule, groups, object).length === 0,
    });
  }
  return ajv;
}
