/**
 * Runs a schema of ours over a value by ajv, and hands back every error it finds.
 *
 * Compilation writes and compiles code (tens of milliseconds), so each schema is compiled once, when first needed. Defaults
 * are not ajv's business here: they would be in place before the rules between keys are checked, and count as written.
 */

import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { FORMATS } from "./formats.ts";
import { breaches, RULE_NAMES } from "./rules.ts";
import type { JsonSchema } from "./schema.ts";

export type { ErrorObject };

/**
 * The schemas are ours, and tests hold them against the schema of schemas: at a start that would take as long as compiling
 * them. A document is checked once or twice, so code that runs faster is not worth the time that making it takes.
 */
const TRUSTED = { meta: false, validateSchema: false, code: { optimize: false } } as const;

const compiled = new WeakMap<JsonSchema, ValidateFunction>();

export function validate(schema: JsonSchema, value: unknown): readonly ErrorObject[] {
  let check = compiled.get(schema);
  if (check === undefined) {
    check = validator().compile(schema);
    compiled.set(schema, check);
  }
  return check(value) ? [] : (check.errors ?? []);
}

function validator(): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    allErrors: true,
    allowUnionTypes: true,
    discriminator: true,
    verbose: true,
    ...TRUSTED,
    formats: Object.fromEntries(Object.entries(FORMATS).map(([name, { check }]) => [name, check])),
  });
  ajv.addVocabulary(["x-secret", "x-references", "x-assumed"]);
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
