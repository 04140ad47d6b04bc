/**
 * Validates input by the schemas of the operations table. Every fault names its field, and an unknown field also the known one
 * that was probably meant; values are never repeated. Unknown fields are refused, so that nothing is accepted and silently
 * ignored.
 */

import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import {
  closestName,
  type JsonSchema,
  type ObjectSchema,
  parseDuration,
  type Schema,
  type TypeOf,
} from "../../base/index.ts";
import { refusal } from "./refusal.ts";

interface Fault {
  /** Path, such as `metadata.team` or `keep[2]`; empty for the whole value. */
  readonly field: string;
  readonly message: string;
}

/** Maximum number of reported faults; a body of 1 MiB can have tens of thousands. */
const MAX_FAULTS = 20;
/** Maximum length shown of an unknown field's name. */
const MAX_SHOWN_LENGTH = 64;

let ajv: Ajv2020 | undefined;
const compiled = new WeakMap<JsonSchema, ValidateFunction>();

/** Validates a value and returns it. Throws `invalid` with all faults in its details. */
export function validateInput<S extends Schema<unknown>>(
  schema: S,
  value: unknown,
  where: "body" | "query" | "path",
): TypeOf<S> {
  const known = faultsOf(schema, value);
  const faults = known.length > 0 ? known : malformedTexts(value, "").slice(0, MAX_FAULTS);
  if (faults.length === 0) return value as TypeOf<S>;
  const [first, ...more] = faults;
  const rest = more.length === 0 ? "" : ` (and ${more.length} more)`;
  const at = first?.field ? `${NAMES[where]} ${quoteName(first.field)}` : `The ${where}`;
  throw refusal("invalid", `${at} ${first?.message ?? ""}${rest}.`, { in: where, faults });
}

const NAMES = { body: "The field", query: "The query parameter", path: "The path parameter" } as const;

/** Returns the faults; empty if the value matches the schema. */
export function faultsOf(schema: Schema<unknown>, value: unknown): readonly Fault[] {
  let validate = compiled.get(schema.json);
  if (validate === undefined) {
    ajv ??= createValidator();
    validate = ajv.compile(schema.json);
    compiled.set(schema.json, validate);
  }
  if (validate(value)) return [];
  // An invalid name is reported once. Unknown fields come first, since one may be a misspelled required field.
  const errors = (validate.errors ?? []).filter(
    (it) => it.keyword === "propertyNames" || it.propertyName === undefined,
  );
  const isUnknown = (it: ErrorObject): boolean => it.keyword === "additionalProperties";
  const faults = [...errors.filter(isUnknown), ...errors.filter((it) => !isUnknown(it))].slice(0, MAX_FAULTS);
  return faults.map(toFault);
}

/** Finds texts with a lone surrogate, which cannot be encoded as UTF-8. */
function malformedTexts(value: unknown, at: string): readonly Fault[] {
  if (typeof value === "string") {
    return value.isWellFormed() ? [] : [{ field: quoteName(at, ""), message: "is not well-formed Unicode" }];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    malformedTexts(item, Array.isArray(value) ? `${at}[${name}]` : at === "" ? name : `${at}.${name}`),
  );
}

/** Converts texts of a query or a path to the types of their schema; a text that does not fit stays, and is refused later. */
export function fromTexts(schema: ObjectSchema, texts: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => {
      const kind = Object.hasOwn(schema.keys, name) ? schema.keys[name]?.json["type"] : undefined;
      if (kind === "integer" && /^\d{1,16}$/.test(text)) return [name, Number(text)];
      if (kind === "boolean" && (text === "true" || text === "false")) return [name, text === "true"];
      return [name, text];
    }),
  );
}

/** Parses a query. Throws `invalid` for a repeated parameter, since it would be ambiguous. */
export function queryTexts(query: string): Readonly<Record<string, string>> {
  const texts = new Map<string, string>();
  for (const [name, text] of new URLSearchParams(query)) {
    if (texts.has(name)) {
      const message = "is given more than once";
      throw refusal("invalid", `The query parameter ${quoteName(name)} ${message}.`, {
        in: "query",
        faults: [{ field: quoteName(name, ""), message }],
      });
    }
    texts.set(name, text);
  }
  return Object.fromEntries(texts);
}

function toFault({ keyword, params, schema, instancePath, parentSchema }: ErrorObject): Fault {
  const at = fieldOf(instancePath);
  const of = (name: unknown): string => quoteName(at === "" ? String(name) : `${at}.${name}`, "");
  switch (keyword) {
    case "additionalProperties": {
      const name = String(params["additionalProperty"]);
      const near = closestName(name, Object.keys(parentSchema?.["properties"] ?? {}));
      return {
        field: of(name),
        message: near === undefined ? "is not known" : `is not known; did you mean \`${near}\`?`,
      };
    }
    case "required":
      return { field: of(params["missingProperty"]), message: "is missing" };
    case "propertyNames":
      return { field: of(params["propertyName"]), message: "has a name that is not allowed here" };
    default:
      return { field: quoteName(at, ""), message: expectation(keyword, params, schema) };
  }
}

/** `schema`: value of the keyword. */
function expectation(keyword: string, params: ErrorObject["params"], schema: unknown): string {
  switch (keyword) {
    case "type":
      return `must be ${[params["type"]].flat().join(" or ")}`;
    case "enum":
      return `must be one of ${(params["allowedValues"] as readonly unknown[]).map((it) => JSON.stringify(it)).join(", ")}`;
    case "minLength":
      return `must have at least ${params["limit"]} characters`;
    case "maxLength":
      return `must have at most ${params["limit"]} characters`;
    case "minItems":
      return `must have at least ${params["limit"]} items`;
    case "maxItems":
      return `must have at most ${params["limit"]} items`;
    case "maxProperties":
      return `must have at most ${params["limit"]} fields`;
    case "uniqueItems":
      return "must not contain duplicates";
    case "minimum":
      return `must be at least ${params["limit"]}`;
    case "maximum":
      return `must be at most ${params["limit"]}`;
    case "pattern":
      return `must match ${params["pattern"]}`;
    case "format":
      return `must be a ${params["format"] === "positive-duration" ? "positive " : ""}duration such as 250ms, 30s or 1h30m`;
    case "x-max-duration":
      return `must be at most ${schema}`;
    default:
      return "is not allowed here";
  }
}

function fieldOf(pointer: string): string {
  let field = "";
  for (const part of pointer.split("/").slice(1)) {
    const step = part.replaceAll("~1", "/").replaceAll("~0", "~");
    field += /^\d+$/.test(step) && field !== "" ? `[${step}]` : field === "" ? step : `.${step}`;
  }
  return field;
}

export function quoteName(name: string, quote: "`" | "" = "`"): string {
  const text = name.length > MAX_SHOWN_LENGTH ? `${name.slice(0, MAX_SHOWN_LENGTH)}…` : name;
  return quote + text.replace(/[\p{Cc}\p{Cf}]/gu, "?") + quote;
}

function createValidator(): Ajv2020 {
  const isDuration = (text: string): boolean => (parseDuration(text) ?? -1) >= 0;
  const made = new Ajv2020({
    strict: true,
    allErrors: true,
    allowUnionTypes: true,
    verbose: true,
    // The schemas are our own, and tests validate them against the meta-schema.
    meta: false,
    validateSchema: false,
    formats: {
      duration: isDuration,
      "positive-duration": (text: string) => (parseDuration(text) ?? 0) >= 1,
      "duration-or-empty": (text: string) => text === "" || isDuration(text),
      "date-time": (text: string) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text),
    },
  });
  made.addKeyword({
    keyword: "x-max-duration",
    type: "string",
    schemaType: "string",
    validate: (limit: string, text: string) => (parseDuration(text) ?? 0) <= (parseDuration(limit) ?? 0),
  });
  return made;
}
