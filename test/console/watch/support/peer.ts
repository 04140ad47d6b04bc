/**
 * A test peer behind an address: a server of our own that can send wrong answers, hang and break off as no gateway
 * does. Every request is recorded with its time.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { TABLES, type TableName } from "../../../../src/admin-api/index.ts";
import type { ConsoleEndpoint } from "../../../../src/console/model/ports.ts";
import { listenLocally } from "../../../e2e/support/ports.ts";
import { atEnd, type Owner } from "../../../e2e/support/wait.ts";

interface ReceivedRequest {
  /** Path below `/admin/v1`, with its query. */
  readonly path: string;
  /** Monotonic time in milliseconds. */
  readonly at: number;
  readonly request: IncomingMessage;
}

export type Handler = (path: string, response: ServerResponse, request: IncomingMessage) => void;

export interface Peer {
  readonly endpoint: ConsoleEndpoint;
  readonly url: string;
  readonly received: readonly ReceivedRequest[];
  /** Number of requests for the path, ignoring queries if `path` has none. */
  count(path: string): number;
  handler: Handler;
  /** Number of open connections. */
  readonly connections: number;
  /** Refuses new connections and ends existing ones; `rise` undoes it. */
  fall(): Promise<void>;
  rise(): Promise<void>;
}

export async function startPeer(owner: Owner, name: string, handler: Handler): Promise<Peer> {
  const received: ReceivedRequest[] = [];
  const sockets = new Set<Socket>();
  const serve = () =>
    createServer((request, response) => {
      const path = (request.url ?? "").replace("/admin/v1", "");
      received.push({ path, at: performance.now(), request });
      response.on("error", () => undefined);
      peer.handler(path, response, request);
    }).on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => sockets.delete(socket));
    });
  let server = serve();
  const port = await listenLocally(server);
  const url = `http://127.0.0.1:${port}`;
  const fall = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  atEnd(owner, fall);
  const peer: Peer = {
    endpoint: { endpoint: { kind: "url", url }, name, flags: `-url ${url}` },
    url,
    received,
    count: (of) => received.filter(({ path }) => path === of || path.split("?")[0] === of).length,
    handler,
    get connections() {
      return sockets.size;
    },
    fall,
    async rise() {
      server = serve();
      await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    },
  };
  return peer;
}

export function answer(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

export const refuse = (response: ServerResponse, status: number, code: string): void =>
  answer(response, { error: { code, message: `it is ${code}` } }, status);

interface StatusFacts {
  readonly node?: string;
  readonly leader?: string | null;
  readonly term?: number;
  readonly startedAt?: string;
}

export const status = ({ node = "n1", leader = "n1", term = 1, startedAt = "a" }: StatusFacts = {}) => ({
  node,
  version: "1",
  started_at: startedAt,
  uptime_seconds: 1,
  role: "leader",
  leader,
  term,
  commit_index: 1,
  applied_index: 1,
  cluster_id: null,
  ready: true,
  reasons: [],
  listeners: [],
  configuration: { state: "running", message: null },
});

export const suspension = (name: string, reason = "r") => ({
  kind: "model",
  name,
  reason,
  by: "unix:0",
  created_at: "2026-01-01T00:00:00.000Z",
  until: null,
  status: "active",
});

export const key = (at: number, lastUsedAt: string | null = null) => ({
  id: String(at).padStart(8, "0"),
  name: `key-${at}`,
  profile: "standard",
  metadata: { team: `team-${at % 100}`, purpose: "chat" },
  created_at: "2026-01-01T00:00:00.000Z",
  expires_at: null,
  last_used_at: lastUsedAt,
  status: "active",
});

/** Lists as a gateway serves them: a read with an index is held until the list has passed it. */
interface Lists {
  readonly handler: Handler;
  set(table: TableName, items: readonly unknown[]): void;
  status: ReturnType<typeof status>;
  /** Initial index of every list. */
  base: number;
  /** Number of reads held back. */
  readonly waiting: number;
}

export function createLists(): Lists {
  const items = new Map<string, readonly unknown[]>();
  const versions = new Map<string, number>();
  const waiting = new Map<ServerResponse, string>();
  const listing = (table: string) => ({
    items: items.get(table) ?? [],
    index: lists.base + (versions.get(table) ?? 0),
  });
  const lists: Lists = {
    status: status(),
    base: 100,
    get waiting() {
      return waiting.size;
    },
    set(table, rows) {
      items.set(table, rows);
      versions.set(table, (versions.get(table) ?? 0) + 1);
      for (const [response, of] of waiting) {
        if (of !== table) continue;
        waiting.delete(response);
        answer(response, listing(table));
      }
    },
    handler(path, response) {
      const { pathname, searchParams } = new URL(path, "http://peer");
      const table = pathname.slice(1);
      if (pathname === "/status") answer(response, lists.status);
      else if (pathname === "/whoami") answer(response, { issuer: "local", subject: "unix:0", roles: [] });
      else if (!Object.hasOwn(TABLES, table)) refuse(response, 404, "not_found");
      else if (Number(searchParams.get("index") ?? -1) < listing(table).index) answer(response, listing(table));
      else {
        waiting.set(response, table);
        response.once("close", () => waiting.delete(response));
      }
    },
  };
  return lists;
}
