/**
 * The admin API as an OpenAPI 3.1 document, generated only from the operations table, which also defines routing, validation
 * and authorization. The same table gives the same text.
 *
 * Source: OpenAPI Specification 3.1.0; design decisions, section 3.
 */

import type { JsonSchema, ObjectSchema } from "../base/index.ts";
import { COMPONENT_HEADERS, componentResponses, responsesOf, schemasWithError } from "./openapi-answers.ts";
import { reference, referred } from "./openapi-schemas.ts";
import type { BodyShape, Operation, ResourceKind } from "./operation.ts";
import { OPERATIONS } from "./operations.ts";
import { BASE_PATH, PROBE_PATHS } from "./paths.ts";

type Methods = Readonly<Record<string, JsonSchema>>;

export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers?: readonly JsonSchema[];
  readonly tags: readonly JsonSchema[];
  /** Credential of the caller: a token, or nothing on the local socket. */
  readonly security: readonly JsonSchema[];
  readonly paths: Readonly<Record<string, Methods>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>>;
}

export interface OpenApiOptions {
  /** Version of the build. */
  readonly version: string;
  /** Address of the API; omitted if the document is read from the gateway itself. */
  readonly serverUrl?: string;
}

const TITLE = "Gateway admin API";
const DESCRIPTION = [
  "Served on the local socket and on the admin listener, under the same paths.",
  "Lists can be waited for: `index` and `wait` answer as soon as a list has changed.",
  "Operations carry their action, group and resource of the access policy as `x-policy-` fields.",
].join(" ");

const operations: readonly (readonly [id: string, operation: Operation])[] = Object.entries(OPERATIONS);

export function openApiDocument({ version, serverUrl }: OpenApiOptions): OpenApiDocument {
  const paths: Record<string, Methods> = {};
  for (const [id, operation] of operations) {
    const path = BASE_PATH + operation.path;
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: described(id, operation) };
  }
  const tags = [...new Set([...operations.map(([, operation]) => tagOf(operation)), PROBE_TAG])];
  return {
    openapi: "3.1.0",
    info: { title: TITLE, version, description: DESCRIPTION },
    ...(serverUrl !== undefined && { servers: [{ url: serverUrl }] }),
    tags: tags.map((name) => ({ name })),
    security: [{ bearer: [] }, {}],
    paths: { ...paths, ...PROBES },
    components: {
      schemas: schemasWithError(),
      responses: componentResponses(operations.map(([, operation]) => operation)),
      parameters: PARAMETERS,
      headers: COMPONENT_HEADERS,
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description:
            "A token of an issuer of the node file. The local socket knows its caller and takes no token, and a loopback listener without an issuer takes none either.",
        },
      },
    },
  };
}

function described(id: string, operation: Operation): JsonSchema {
  const { help, body, isOpen, group, params, query } = operation;
  const parameters = [
    ...parametersOf("path", params),
    ...parametersOf("query", query),
    ...(takesIdempotencyKey(operation) ? [reference("parameters", "IdempotencyKey")] : []),
    ...(operation.takesIfMatch === true ? [reference("parameters", "IfMatch")] : []),
  ];
  return {
    operationId: id,
    summary: help,
    tags: [tagOf(operation)],
    ...(isOpen === true
      ? { security: [] }
      : { "x-policy-action": id, "x-policy-group": group, "x-policy-resource": resourceOf(operation) }),
    ...(parameters.length > 0 && { parameters }),
    ...requestBody(body),
    responses: responsesOf(operation),
  };
}

/** Tag of each resource kind, as in the paths. */
const TAGS: Readonly<Record<Exclude<ResourceKind, "Table">, string>> = {
  Key: "keys",
  Suspension: "suspensions",
  Acknowledgement: "acknowledgements",
  Secret: "secrets",
  Source: "sources",
  Backend: "backends",
  Audit: "audit",
  Member: "cluster_members",
  Cluster: "cluster",
  Guardrails: "guardrails",
  Config: "config",
  Node: "node",
};

function tagOf({ resource }: Operation): string {
  if (resource.kind !== "Table") return TAGS[resource.kind];
  return "name" in resource ? resource.name : "tables";
}

/** Returns a Cedar entity whose name contains the parameters of the path. */
function resourceOf({ resource }: Operation): string {
  const name =
    "name" in resource
      ? resource.name
      : [resource.param]
          .flat()
          .map((param) => `{${param}}`)
          .join(":");
  return `${resource.kind}::"${name}"`;
}

/**
 * Returns whether the operation takes an idempotency key. Streams do not, because they cannot be compared before they have been
 * read.
 */
const takesIdempotencyKey = ({ group, body }: Operation): boolean => group !== "read" && body.kind !== "stream";

function parametersOf(place: "path" | "query", { keys, json }: ObjectSchema): readonly JsonSchema[] {
  const required = (json["required"] ?? []) as readonly string[];
  return Object.entries(keys).map(([name, schema]) => {
    const { description, ...rest } = schema.json;
    const isRequired = place === "path" || required.includes(name);
    return { name, in: place, description, ...(isRequired && { required: true }), schema: rest };
  });
}

function requestBody(body: BodyShape): { readonly requestBody?: JsonSchema } {
  switch (body.kind) {
    case "none":
      return {};
    case "json": {
      const isRequired = body.schema.json["required"] !== undefined;
      const content = { "application/json": { schema: referred(body.schema.json) } };
      return { requestBody: { ...(isRequired && { required: true }), content } };
    }
    case "document": {
      const schema = { type: "object", description: "A deployment document, kept as written." };
      const content = { "application/yaml": { schema }, "application/json": { schema } };
      return { requestBody: { required: true, content } };
    }
    case "stream":
      return { requestBody: { required: true, content: { [body.contentType]: {} } } };
    default:
      return body satisfies never;
  }
}

const PARAMETERS: Readonly<Record<string, JsonSchema>> = {
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description: "The same request under the same key is applied once, and answered alike.",
    schema: { type: "string", pattern: "^[!-.0-~]{1,128}$" },
  },
  IfMatch: {
    name: "If-Match",
    in: "header",
    description: "The revision to be replaced, as the ETag of the source gave it; 0: none. Any, when left out.",
    schema: { type: "string", pattern: '^(\\d{1,16}|"\\d{1,16}")$' },
  },
};

const PROBE_TAG = "probes";

function probe(id: string, summary: string, responses: Readonly<Record<string, JsonSchema>>): Methods {
  return { get: { operationId: id, summary, tags: [PROBE_TAG], security: [], responses } };
}

const jsonResponse = (description: string, properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  description,
  content: {
    "application/json": {
      schema: { type: "object", properties, additionalProperties: false, required: Object.keys(properties) },
    },
  },
});

const readiness = (description: string, ready: boolean): JsonSchema =>
  jsonResponse(description, {
    ready: { const: ready },
    reasons: { type: "array", description: "Why it cannot.", items: { type: "string" } },
  });

const PROBES: Readonly<Record<string, Methods>> = {
  [PROBE_PATHS.alive]: probe("get_healthz", "Tells that the process is up.", {
    "200": jsonResponse("It is.", { healthy: { const: true } }),
  }),
  [PROBE_PATHS.ready]: probe("get_readyz", "Tells whether the node can serve.", {
    "200": readiness("It can.", true),
    "503": readiness("It cannot.", false),
  }),
};
