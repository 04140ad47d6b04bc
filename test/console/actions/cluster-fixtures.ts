/** A cluster and its configuration as readings, for the views and dialogs about either. */

import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import {
  type ClusterMemberRecord,
  type Configuration,
  createAdminClient,
  type NodeStatus,
  type SourceRecord,
  type SourceRevision,
} from "../../../src/admin-api/index.ts";
import type { Action } from "../../../src/console/model/action.ts";
import type { Context } from "../../../src/console/model/context.ts";
import {
  type Data,
  keyOf,
  type Need,
  type Readable,
  type ReadableId,
  type Reading,
} from "../../../src/console/model/data.ts";
import type { Dialog, FieldValues } from "../../../src/console/model/dialog.ts";
import { type Line, textOfLine } from "../../../src/console/model/text.ts";

export const NOW = Date.parse("2026-11-20T14:02:07Z");

type Values = { readonly [Id in ReadableId]?: Readable[Id] } & {
  readonly revisions?: Readonly<Record<string, readonly SourceRevision[]>>;
};

export function dataOf({ revisions = {}, ...values }: Values): Data {
  const readings = new Map<string, unknown>(Object.entries(values));
  for (const [name, items] of Object.entries(revisions))
    readings.set(keyOf({ id: "list_source_revisions", name }), items);
  return {
    get<Id extends ReadableId>(need: Need<Id>): Reading<Readable[Id]> | undefined {
      const value = readings.get(keyOf(need)) as Readable[Id] | undefined;
      return value === undefined ? undefined : { value, freshAt: NOW, requestedAt: NOW, failure: undefined };
    },
  };
}

export function contextOf(values: Values, more: Partial<Context> = {}): Context {
  return {
    data: dataOf(values),
    now: NOW,
    subject: undefined,
    isReadOnly: false,
    isAscii: false,
    endpointFlags: "-socket /run/gateway/admin.sock",
    tail: undefined,
    verification: undefined,
    ...more,
  };
}

export function member(id: string, changes: Partial<ClusterMemberRecord> = {}): ClusterMemberRecord {
  const number = id.slice(1);
  return {
    id,
    role: "follower",
    voter: true,
    raft_addr: `10.0.0.${number}:7000`,
    forward_addr: `10.0.0.${number}:7001`,
    state: "reachable",
    last_contact_ms: 412,
    clock_offset_ms: 0,
    node: "n1",
    applied: 88_412,
    lag: 0,
    version: "1.4.0",
    ...changes,
  };
}

export const leader = (id: string): ClusterMemberRecord => member(id, { role: "leader", last_contact_ms: 0 });

export const silent = (id: string): ClusterMemberRecord =>
  member(id, { state: "silent", last_contact_ms: 860_000, applied: 88_100, lag: 312 });

export const learner = (id: string, changes: Partial<ClusterMemberRecord> = {}): ClusterMemberRecord =>
  member(id, { role: "learner", voter: false, lag: 1_204, ...changes });

export function status(changes: Partial<NodeStatus> = {}): NodeStatus {
  return {
    node: "n1",
    version: "1.4.0",
    started_at: "2026-11-18T09:00:00Z",
    uptime_seconds: 190_927,
    role: "leader",
    leader: "n1",
    term: 12,
    commit_index: 88_412,
    applied_index: 88_412,
    cluster_id: "c1",
    ready: true,
    reasons: [],
    listeners: [],
    configuration: { state: "running", message: null },
    models: [],
    ...changes,
  };
}

export function source(name: string, changes: Partial<SourceRecord> = {}): SourceRecord {
  return {
    name,
    revision: 118,
    writer: "api",
    updated_at: "2026-11-20T13:41:02Z",
    by: "ci@example",
    state: "running",
    message: null,
    ...changes,
  };
}

export const revision = (number: number, changes: Partial<SourceRevision> = {}): SourceRevision => ({
  revision: number,
  updated_at: "2026-11-20T13:41:02Z",
  by: "ci@example",
  bytes: 4_096 + number,
  ...changes,
});

export function config(
  state: Configuration["file_status"]["state"],
  changes: Partial<Configuration> & { readonly message?: string; readonly remedy?: string } = {},
): Configuration {
  const { message = "the document equals the stored one", remedy = "", ...more } = changes;
  return { source: "/etc/gateway/deployment.yaml", sources: [], file_status: { state, message, remedy }, ...more };
}

export const texts = (lines: readonly Line[]): readonly string[] => lines.map(textOfLine);

/** Returns the initial values of a dialog, merged with the given ones. */
export const valuesOf = ({ fields }: Dialog, input: FieldValues = {}): FieldValues => ({
  ...Object.fromEntries(fields.map(({ id, initial }) => [id, initial])),
  ...input,
});

/** Returns `Label: text`, one line each. */
export const linesOf = (dialog: Dialog, context: Context, input: FieldValues = {}): readonly string[] =>
  dialog.lines(valuesOf(dialog, input), context).map(([label, line]) => `${label}: ${textOfLine(line)}`);

export interface CarriedOut {
  readonly method: string;
  readonly path: string;
  readonly ifMatch: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly body: string;
  readonly message: string;
}

/** Runs an action with a gateway that answers as given; returns its request and its result text. */
export async function carriedOut(action: Action, answer: unknown): Promise<CarriedOut> {
  const directory = await mkdtemp(join(tmpdir(), "console-"));
  const path = join(directory, "admin.sock");
  let seen: Omit<CarriedOut, "message"> | undefined;
  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const idempotencyKey = headers["idempotency-key"];
    seen = {
      method,
      path: url,
      ifMatch: headers["if-match"],
      idempotencyKey: Array.isArray(idempotencyKey) ? idempotencyKey.join() : idempotencyKey,
      body: await text(request),
    };
    response.writeHead(answer === undefined ? 204 : 200, { "content-type": "application/json" });
    response.end(answer === undefined ? undefined : JSON.stringify(answer));
  });
  await once(server.listen(path), "listening");
  const client = createAdminClient({ address: { kind: "socket", path }, timeLimitMs: 5_000 });
  try {
    const { message } = await action.run(client, { idempotencyKey: "k1" });
    if (seen === undefined) throw new Error("nothing was sent");
    return { ...seen, message };
  } finally {
    client.close();
    server.close();
    await rm(directory, { recursive: true });
  }
}
