/**
 * A valid request for every operation of the admin API, its preparation and its expected status, on a single-node
 * cluster configured through the API.
 */
import {
  type AdminClient,
  AdminError,
  BASE_PATH,
  OPERATIONS,
  type Operation,
  type OperationId,
  TABLES,
  type TableName,
} from "../../../../src/admin-api/index.ts";
import { provider } from "../../config/support/nodes.ts";
import type { Sending } from "./send.ts";

interface Input {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | ((client: AdminClient) => Promise<Uint8Array>);
  /** Creates what the request needs; called before each request. */
  readonly prepare?: (client: AdminClient) => Promise<unknown>;
  readonly status: number;
}

const NAME = "matrix";
const named = { name: NAME };
const suspended = { kind: "provider", name: "one" } as const;
const acknowledged = { name: "provider:one" } as const;

const document = (name: string): string =>
  JSON.stringify({ providers: [provider(`of-${name}`, "http://127.0.0.1:9", { models: [`${name}-*`] })] });

const key = (client: AdminClient) => present(client.call("create_key", { body: named }));
const secret = (client: AdminClient) => client.call("put_secret", { params: named, body: { value: "v" } });
const suspension = (client: AdminClient) =>
  client.call("put_suspension", { params: suspended, body: { reason: "r", duration: "1h" } });

/** Writes a source with at least two revisions. */
async function source(client: AdminClient): Promise<void> {
  for (const text of ["first", "second"]) await client.call("put_source", { params: named, body: document(text) });
}

const list = { status: 200 } as const;

type ListId = `list_${TableName}`;

/** Lists need no input. */
const LIST_INPUTS = Object.fromEntries(Object.keys(TABLES).map((table) => [`list_${table}`, list])) as Readonly<
  Record<ListId, Input>
>;

/** One input per operation; the type and a test ensure that none is missing. */
export const INPUTS: Readonly<Record<OperationId, Input>> = {
  ...LIST_INPUTS,
  create_key: {
    prepare: (client) => absent(client.call("delete_key", { params: named })),
    body: JSON.stringify({ ...named, metadata: { team: "a" }, expires_in: "1h" }),
    status: 201,
  },
  get_key: { params: named, prepare: key, status: 200 },
  update_key: { params: named, prepare: key, body: '{"expires_in":null}', status: 200 },
  delete_key: { params: named, prepare: key, status: 204 },
  rotate_key: { params: named, prepare: key, status: 200 },
  put_suspension: { params: suspended, body: '{"reason":"r","duration":"1h"}', status: 200 },
  delete_suspension: { params: suspended, prepare: suspension, status: 204 },
  put_acknowledgement: {
    params: acknowledged,
    body: '{"reason":"r","duration":"1h","severity":"warn","degree":2}',
    status: 200,
  },
  delete_acknowledgement: {
    params: acknowledged,
    prepare: (client) =>
      client.call("put_acknowledgement", { params: acknowledged, body: { reason: "r", duration: "1h" } }),
    status: 204,
  },
  put_secret: { params: named, body: '{"value":"v"}', status: 200 },
  delete_secret: { params: named, prepare: secret, status: 204 },
  rewrap_secrets: { prepare: secret, status: 200 },
  get_source: { params: named, prepare: source, status: 200 },
  put_source: { params: named, body: document("put"), status: 200 },
  delete_source: { params: named, prepare: source, status: 204 },
  list_source_revisions: { params: named, prepare: source, status: 200 },
  get_source_revision: { params: { ...named, revision: "1" }, prepare: source, status: 200 },
  rollback_source: { params: named, prepare: source, body: '{"revision":1}', status: 200 },
  get_config: list,
  // There is no document on the disk.
  reload_config: { status: 409 },
  rehearse: { body: "{}", status: 200 },
  inspect_guardrails: { body: '{"segments":[{"kind":"user","text":"a"}]}', status: 200 },
  list_backend_members: { params: { name: "one" }, status: 200 },
  list_backend_history: { params: { name: "one" }, status: 200 },
  list_backend_errors: { params: { name: "one" }, status: 200 },
  // A single-node cluster has no member to remove or to hand over to.
  delete_cluster_member: { params: { id: "n9" }, status: 404 },
  prune_cluster: { body: '{"keep":["n1"]}', status: 200 },
  transfer_leader: { body: '{"to":"n1"}', status: 200 },
  save_snapshot: { status: 200 },
  restore_snapshot: { body: archive, headers: { "content-type": "application/gzip" }, status: 200 },
  list_audit_records: { query: "limit=5", status: 200 },
  run_query: { body: '{"sql":"select ? as n","params":["a"]}', status: 200 },
  list_query_tables: list,
  get_status: list,
  get_whoami: list,
  get_login: list,
  get_openapi: list,
};

export const OPERATION_IDS = Object.keys(OPERATIONS) as readonly OperationId[];

export const operationOf = (id: OperationId): Operation => OPERATIONS[id];

/** Returns the resource, also of bodies without a name. */
export function resourceOf(id: OperationId): { readonly kind: string; readonly name: string } {
  const { resource } = operationOf(id);
  if ("name" in resource) return resource;
  const params = new Map(Object.entries(INPUTS[id].params ?? {}));
  return {
    kind: resource.kind,
    name: [resource.param]
      .flat()
      .map((it) => params.get(it))
      .join(":"),
  };
}

export function targetOf(id: OperationId): string {
  const { params = {}, query } = INPUTS[id];
  const filled = Object.entries(params).reduce(
    (path, [name, value]) => path.replace(`{${name}}`, value),
    operationOf(id).path,
  );
  return `${BASE_PATH}${filled}${query === undefined ? "" : `?${query}`}`;
}

export async function sendingOf(id: OperationId, client: AdminClient): Promise<Sending> {
  const { body, headers } = INPUTS[id];
  return {
    ...(headers !== undefined && { headers }),
    ...(body !== undefined && { body: typeof body === "string" ? body : await body(client) }),
  };
}

async function archive(client: AdminClient): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of await client.call("save_snapshot")) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const present = (call: Promise<unknown>): Promise<unknown> => unless("conflict", call);
const absent = (call: Promise<unknown>): Promise<unknown> => unless("not_found", call);

async function unless(code: string, call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof AdminError && error.code === code) return undefined;
    throw error;
  }
}
