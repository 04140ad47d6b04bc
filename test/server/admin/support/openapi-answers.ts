/**
 * Real answers checked against the OpenAPI document: status, content type, headers and body must match. Foreign clients
 * are generated from the document, so answers must contain nothing else.
 */

import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { openApiDocument } from "../../../../src/admin-api/index.ts";
import { parseDuration } from "../../../../src/base/index.ts";

type Node = Readonly<Record<string, unknown>>;
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const DOCUMENT = openApiDocument({ version: "1.2.3" });

const ROOT = "https://gateway.example/openapi.json";

/** Place of each operation in the document. */
const PLACES: ReadonlyMap<string, readonly [path: string, method: string]> = new Map(
  Object.entries(DOCUMENT.paths)
    // A path without parameters comes before one that would match it.
    .sort(([a], [b]) => Number(a.includes("{")) - Number(b.includes("{")))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [String(operation["operationId"]), [path, method]] as const),
    ),
);

const ajv = validator();
const validators = new Map<string, ValidateFunction>();

/** `body` is the raw body, not checked if the document has no schema for it. */
export function assertAnswer(operationId: string, status: number, headers: Headers, body: string): void {
  const place = PLACES.get(operationId);
  assert.ok(place !== undefined, `${operationId} is not described`);
  const responses = at(["paths", ...place, "responses"]);
  const key = Object.hasOwn(responses, String(status)) ? String(status) : "default";
  assert.ok(Object.hasOwn(responses, key), `${operationId} answers ${status}, which is not described`);
  const where = resolved(["paths", ...place, "responses", key]);
  assertHeaders(`${operationId} ${status}`, where, headers);
  assertBody(`${operationId} ${status}`, where, headers, body);
}

/** Like `assertAnswer` for any path; a path that is no operation must have our own refusal. */
export function assertAnswerTo(method: string, target: string, status: number, headers: Headers, body: string): void {
  const path = target.split("?", 1)[0] ?? "";
  const found = [...PLACES].find(([, place]) => place[1] === method.toLowerCase() && formOf(place[0]).test(path));
  if (found !== undefined) {
    assertAnswer(found[0], status, headers, body);
    return;
  }
  assert.ok(status >= 400, `${method} ${path} is not described and answers ${status}`);
  assertBody(`${method} ${path} ${status}`, ["components", "responses", "Refusal"], headers, body);
}

function assertHeaders(what: string, where: readonly string[], headers: Headers): void {
  for (const name of Object.keys((at(where)["headers"] ?? {}) as Node)) {
    const place = resolved([...where, "headers", name]);
    const value = headers[name];
    if (value === undefined) assert.notEqual(at(place)["required"], true, `${what} has no header ${name}`);
    else assertValid(`${what} header ${name}`, [...place, "schema"], value);
  }
}

function assertBody(what: string, where: readonly string[], headers: Headers, body: string): void {
  const { content } = at(where);
  if (content === undefined) {
    assert.equal(body, "", `${what} has a body`);
    return;
  }
  const type = String(headers["content-type"]).split(";", 1)[0] ?? "";
  assert.ok(Object.hasOwn(content as Node, type), `${what} is of type ${type}, which is not described`);
  const schema = [...where, "content", type, "schema"];
  if (at([...where, "content", type])["schema"] !== undefined) assertValid(what, schema, JSON.parse(body));
}

function assertValid(what: string, where: readonly string[], value: unknown): void {
  const pointer = where.map((part) => part.replaceAll("~", "~0").replaceAll("/", "~1")).map(encodeURIComponent);
  const ref = `${ROOT}#/${pointer.join("/")}`;
  const validate = validators.get(ref) ?? ajv.compile({ $ref: ref });
  validators.set(ref, validate);
  assert.ok(validate(value), `${what}: ${ajv.errorsText(validate.errors)}`);
}

function at(where: readonly string[]): Node {
  return where.reduce<Node>((node, part) => (node[part] ?? {}) as Node, DOCUMENT as unknown as Node);
}

/** Returns the place itself, or the one it refers to. */
function resolved(where: readonly string[]): readonly string[] {
  const { $ref } = at(where);
  return typeof $ref === "string" ? $ref.slice("#/".length).split("/") : where;
}

/** A colon between two parameters may be percent-encoded. */
function formOf(path: string): RegExp {
  const form = path
    .replaceAll(".", "\\.")
    .replaceAll(":", "(?::|%3[Aa])")
    .replace(/\{\w+\}/g, "[^/]+");
  return new RegExp(`^${form}$`);
}

function validator(): Ajv2020 {
  const isDuration = (text: string): boolean => (parseDuration(text) ?? -1) >= 0;
  const made = new Ajv2020({
    // The document has more than schemas, and OpenAPI keywords.
    strict: false,
    validateSchema: false,
    allErrors: true,
    formats: {
      duration: isDuration,
      "positive-duration": isDuration,
      "duration-or-empty": (text: string) => text === "" || isDuration(text),
      "date-time": (text: string) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text),
    },
  });
  made.addSchema({ ...DOCUMENT, $id: ROOT });
  return made;
}
