/** A stand-in for the admin listener: offers sign-in, and identifies a token's caller. */

import { createServer, type IncomingMessage } from "node:http";
import { listenLocally } from "../../e2e/support/ports.ts";
import { atEnd, type Owner } from "../../e2e/support/wait.ts";

export interface Reply {
  readonly status: number;
  readonly body?: unknown;
}

interface Gateway {
  readonly url: string;
  /** `METHOD path authorization` of each request. */
  readonly requests: readonly string[];
  /** Answers to the two requests from now on. */
  login: Reply;
  whoami: (token: string) => Reply;
}

interface OfferOptions {
  readonly issuer: string;
  readonly name?: string;
  readonly client_id?: string;
  readonly scopes?: readonly string[];
  readonly extra?: Readonly<Record<string, string>>;
  readonly token?: string;
}

/** Returns an entry of `GET /admin/v1/login`. */
export function offer(options: OfferOptions): object {
  return { name: "corp", client_id: "gateway-cli", scopes: ["openid", "profile"], extra: {}, token: "id", ...options };
}

/** Offers one issuer; every token identifies a known caller. */
export async function startGateway(owner: Owner, ...offers: readonly object[]): Promise<Gateway> {
  const requests: string[] = [];
  const server = createServer((request, answer) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization ?? "-"}`);
    const { status, body = {} } = route(gateway, request);
    answer.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  const gateway: Gateway = {
    url: `http://127.0.0.1:${await listenLocally(server)}`,
    requests,
    login: { status: 200, body: { issuers: offers } },
    whoami: () => ({ status: 200, body: { issuer: "corp", subject: "alice", roles: ["ops", "viewer"] } }),
  };
  atEnd(owner, () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  });
  return gateway;
}

function route(gateway: Gateway, request: IncomingMessage): Reply {
  if (request.url === "/admin/v1/login") return gateway.login;
  if (request.url === "/admin/v1/whoami") return gateway.whoami((request.headers.authorization ?? "").slice(7));
  return { status: 404 };
}
