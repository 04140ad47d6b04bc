/**
 * The admin API as an OpenAPI 3.1 document, generated only from the operations table, which also defines routing, validation
 * and authorization. The same table gives the same text.
 *
 * Source: OpenAPI Specification 3.1.0; design decisions, section 3.
 */

import type { JsonSchema, ObjectSchema } from "../base/index.ts";
import { BASE_PATH, PROBE_PATHS } from "./admin-paths.ts";
import { COMPONENT_HEADERS, componentResponses, responsesOf, schemasWithError } from "./openapi-answers.ts";
import { reference, referenceOrSchema } from "./openapi-schemas.ts";
import type { BodyShape, Operation, ResourceKind } from "./operation-definition.ts";
import { OPERATIONS } from "./operation-table.ts";

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

interface OpenApiOptions {
  /** Version of the build. */
  readonly version: string;
  /** Address of the API; omitted if the document is read from the gateway itself. */
  readonly serverUrl?: string;
}

const TITLE = "Gateway admin API";
const DESCRIPTION = [
  "The admin socket and the admin listener serve the same paths.",
  "To wait for a change of a list, send `index` and `wait`: the answer comes as soon as the list changes.",
  "The `x-policy-` fields of an operation are its action, group and resource in the admin policy.",
].join(" ");

const operations: readonly (readonly [id: string, operation: Operation])[] = Object.entries(OPERATIONS);

export function openApiDocument({ version, serverUrl }: OpenApiOptions): OpenApiDocument {
  const paths: Record<string, Methods> = {};
  for (const [id, operation] of operations) {
    const path = BASE_PATH + operation.path;
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationObject(id, operation) };
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
            "A token of an issuer in the node file. The admin socket identifies its caller without a token. A loopback listener without an issuer also needs no token.",
        },
      },
    },
  };
}

function operationObject(id: string, operation: Operation): JsonSchema {
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
      const content = { "application/json": { schema: referenceOrSchema(body.schema.json) } };
      return { requestBody: { ...(isRequired && { required: true }), content } };
    }
    case "document": {
      const schema = { type: "object", description: "A deployment document, which is stored as written." };
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
    description:
      "A key that you choose. A repeated request with the same key is applied once and gets the same answer.",
    schema: { type: "string", pattern: "^[!-.0-~]{1,128}$" },
  },
  IfMatch: {
    name: "If-Match",
    in: "header",
    description:
      "Revision that the write replaces, from the ETag of the source; 0 if the source must not exist yet. Without the header any revision is replaced.",
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
    reasons: { type: "array", description: "Why the node cannot serve.", items: { type: "string" } },
  });

const PROBES: Readonly<Record<string, Methods>> = {
  [PROBE_PATHS.alive]: probe("get_healthz", "Reports that the process is alive.", {
    "200": jsonResponse("The process is alive.", { healthy: { const: true } }),
  }),
  [PROBE_PATHS.ready]: probe("get_readyz", "Reports whether the node can serve requests.", {
    "200": readiness("The node can serve.", true),
    "503": readiness("The node cannot serve.", false),
  }),
};
