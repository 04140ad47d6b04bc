/**
 * Answers of an operation as OpenAPI responses: its success, and its refusals by status, each with its possible codes. Codes
 * and statuses are those of the one table of refusals.
 */

import { type JsonSchema, REFUSALS, type RefusalCode } from "../base/index.ts";
import { ANSWERED_BY } from "./every-node.ts";
import { TABLES } from "./list-table.ts";
import { componentSchemas, reference, referenceOrSchema } from "./openapi-schemas.ts";
import { COMMON_CODES, type Operation } from "./operation-definition.ts";

type Responses = Readonly<Record<string, JsonSchema>>;

const JSON_TYPE = "application/json";
const REQUEST_ID = { "x-gateway-request-id": reference("headers", "RequestId") } as const;

/** Codes of refusals while the body is read, for every operation. */
const BODY_CODES: readonly RefusalCode[] = ["body_too_large", "busy"];
/** Codes of requests that are refused before an operation is selected. */
const EARLY_CODES: readonly RefusalCode[] = ["not_found", "method_not_allowed", "request_timeout", "headers_too_large"];
/** Codes whose answers have `retry-after`. */
const PASSING_CODES: ReadonlySet<RefusalCode> = new Set(["busy", "no_leader"]);

/** Codes of operations that need no authentication. */
const OPEN_CODES: readonly RefusalCode[] = COMMON_CODES.filter((code) => code === "invalid" || code === "internal");

/** Returns every code that the operation may answer. */
function codesOf({ codes, body, isOpen }: Operation): readonly RefusalCode[] {
  const common: readonly RefusalCode[] = isOpen === true ? OPEN_CODES : COMMON_CODES;
  const schemaFor = body.kind === "json" || body.kind === "document" ? BODY_CODES : [];
  return [...new Set([...common, ...codes, ...schemaFor])];
}

export function responsesOf(operation: Operation): Responses {
  const { status, response } = success(operation);
  const refusals = byStatus(codesOf(operation)).map(
    ([refused, codes]) => [String(refused), reference("responses", responseName(codes))] as const,
  );
  return { [status]: response, ...Object.fromEntries(refusals), default: reference("responses", "Refusal") };
}

function success(operation: Operation): { readonly status: string; readonly response: JsonSchema } {
  const { answer } = operation;
  switch (answer.kind) {
    case "json": {
      const headers = { ...REQUEST_ID, ...(answersRevision(operation) && { etag: reference("headers", "Revision") }) };
      const content = { [JSON_TYPE]: { schema: referenceOrSchema(answer.schema.json) } };
      return { status: String(answer.status), response: { description: "Done.", headers, content } };
    }
    case "list": {
      const headers = { ...REQUEST_ID, etag: reference("headers", "Index") };
      const content = { [JSON_TYPE]: { schema: listing(TABLES[answer.table].json, "nodes" in operation.query.keys) } };
      return {
        status: "200",
        response: { description: "The rows, and the index at which they were read.", headers, content },
      };
    }
    case "empty":
      return { status: "204", response: { description: "Done.", headers: REQUEST_ID } };
    case "stream": {
      const content = { [answer.contentType]: {} };
      return {
        status: "200",
        response: { description: "The content as a stream of bytes.", headers: REQUEST_ID, content },
      };
    }
    default:
      return answer satisfies never;
  }
}

/** Returns whether the answer is a single source, or the result of a write to one. */
function answersRevision({ resource, answer }: Operation): boolean {
  if (resource.kind !== "Source" || answer.kind !== "json") return false;
  return Object.hasOwn((answer.schema.json["properties"] ?? {}) as object, "revision");
}

/** Builds the schema of a list. `isMeasured` is true for lists that each node measures, so that all nodes can be queried. */
const listing = (row: JsonSchema, isMeasured: boolean): JsonSchema => ({
  type: "object",
  description: "Rows of a list.",
  properties: {
    items: { type: "array", description: "The rows.", items: referenceOrSchema(row) },
    index: {
      type: "integer",
      description: "Grows with each change. Send it as `index` of the next read to wait for the next change.",
      minimum: 0,
    },
    ...(isMeasured && Object.fromEntries(Object.entries(ANSWERED_BY).map(([name, { json }]) => [name, json]))),
  },
  additionalProperties: false,
  required: ["items", "index"],
});

const statusOf = (code: RefusalCode): number => REFUSALS[code].status;

/** Groups codes by status. Statuses are ascending; the codes of each are in the order of their table. */
function byStatus(codes: readonly RefusalCode[]): readonly (readonly [number, readonly RefusalCode[]])[] {
  const ordered = (Object.keys(REFUSALS) as RefusalCode[]).filter((code) => codes.includes(code));
  const statuses = [...new Set(ordered.map(statusOf))].sort((a, b) => a - b);
  return statuses.map((status) => [status, ordered.filter((code) => statusOf(code) === status)]);
}

const responseName = (codes: readonly RefusalCode[]): string => codes.join(".");

/** Returns the refusals that these operations refer to. */
export function componentResponses(operations: readonly Operation[]): Responses {
  const named = new Map<string, JsonSchema>();
  for (const operation of operations) {
    for (const [, codes] of byStatus(codesOf(operation))) named.set(responseName(codes), refused(codes));
  }
  const refusalCodes = EARLY_CODES.map((code) => `${statusOf(code)} \`${code}\``).join(", ");
  named.set("Refusal", {
    description: `Refused before the operation was reached: ${refusalCodes}.`,
    headers: REQUEST_ID,
    content: { [JSON_TYPE]: { schema: reference("schemas", "Error") } },
  });
  return Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function refused(codes: readonly RefusalCode[]): JsonSchema {
  const isTransient = codes.some((code) => PASSING_CODES.has(code));
  const only = { properties: { error: { properties: { code: { enum: codes } } } } };
  return {
    description: codes.map((code) => `\`${code}\`: ${REFUSALS[code].cause}`).join(" "),
    headers: { ...REQUEST_ID, ...(isTransient && { "retry-after": reference("headers", "RetryAfter") }) },
    content: { [JSON_TYPE]: { schema: { allOf: [reference("schemas", "Error"), only] } } },
  };
}

/** Returns every schema with a name, including the common error schema. */
export const schemasWithError = (): Readonly<Record<string, JsonSchema>> => ({
  ...componentSchemas(),
  Error: {
    type: "object",
    description: "Why a request was refused.",
    properties: {
      error: {
        type: "object",
        description: "The error.",
        properties: {
          code: { type: "string", description: "Stable code, for programs." },
          message: { type: "string", description: "Description for a person. Its text can change." },
          details: { description: "Further facts for programs. Their form depends on the code." },
        },
        additionalProperties: false,
        required: ["code", "message"],
      },
    },
    additionalProperties: false,
    required: ["error"],
  },
});

export const COMPONENT_HEADERS: Responses = {
  Index: {
    description: "Index of the list, in quotes.",
    required: true,
    schema: { type: "string", pattern: '^"\\d+"$' },
  },
  RequestId: {
    description: "Id of the request, as in the log of the gateway.",
    required: true,
    schema: { type: "string", minLength: 1, maxLength: 128 },
  },
  RetryAfter: {
    description: "Seconds after which a retry may succeed. Absent if that is not known.",
    schema: { type: "string", pattern: "^\\d+$" },
  },
  Revision: {
    description: "Revision of the source, in quotes, for `If-Match` of the next write.",
    required: true,
    schema: { type: "string", pattern: '^"\\d+"$' },
  },
};
