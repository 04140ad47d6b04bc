/**
 * An upstream that checks the token of each call: an MCP server at `/mcp`, an agent at `/a2a`. It answers with the
 * caller it saw, whole or as an event stream, and records for whom the call was made.
 */
import { createServer } from "node:http";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { listenLocally } from "../../support/ports.ts";
import { atEnd, type Owner } from "../../support/wait.ts";

interface Seen {
  readonly token: string;
  /** `sub` of the token; for client credentials the client id. */
  readonly subject: string;
  /** The caller that the call names as its own. */
  readonly caller: string;
  readonly status: number;
}

interface Tools {
  readonly url: string;
  readonly seen: Seen[];
  /** Tokens that are no longer valid. */
  readonly revoked: Set<string>;
  /** Number of next calls that are answered 401 whatever their token. */
  refuses: number;
}

interface ToolsOptions {
  readonly keys: JSONWebKeySet;
  readonly issuer: string;
  readonly audience: string;
}

export async function startTools(owner: Owner, { keys, issuer, audience }: ToolsOptions): Promise<Tools> {
  const keySet = createLocalJWKSet(keys);
  const server = createServer((request, answer) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      // This server has no card.
      if (request.method !== "POST") return void answer.writeHead(404).end();
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
        readonly id: unknown;
        readonly method: string;
        readonly params: {
          readonly arguments?: { readonly caller?: string };
          readonly message?: { readonly messageId?: string };
        };
      };
      const actual = params.arguments?.caller ?? params.message?.messageId ?? "";
      const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
      const verified = await jwtVerify(token, keySet, { issuer, audience }).catch(() => undefined);
      const { sub, client_id: client } = verified?.payload ?? {};
      const subject = String(sub ?? client);
      const isRefused = verified === undefined || tools.revoked.has(token) || tools.refuses > 0;
      if (tools.refuses > 0) tools.refuses--;
      tools.seen.push({ token, subject, caller: actual, status: isRefused ? 401 : 200 });
      if (isRefused) {
        answer.writeHead(401, { "www-authenticate": 'Bearer error="invalid_token", CANARY-CHALLENGE' }).end();
        return;
      }
      const text = `called as ${subject}`;
      const result = request.url?.startsWith("/mcp")
        ? { resultType: "complete", content: [{ type: "text", text }] }
        : { message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text }] } };
      const message = JSON.stringify({ jsonrpc: "2.0", id, result });
      if (method === "SendStreamingMessage" || actual.endsWith("!")) {
        answer.writeHead(200, { "content-type": "text/event-stream" });
        answer.write(": begun\n\n");
        answer.end(`data: ${message}\n\n`);
      } else {
        answer.writeHead(200, { "content-type": "application/json", "x-debug": token }).end(message);
      }
    });
  });
  const tools: Tools = {
    url: `http://127.0.0.1:${await listenLocally(server)}`,
    seen: [],
    revoked: new Set(),
    refuses: 0,
  };
  atEnd(owner, () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  });
  return tools;
}

export interface Called {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Code of the gateway's refusal. */
  readonly code: string | undefined;
}

const MCP = "2026-07-28";

/** `caller` is the name that the call carries; a trailing `!` asks an MCP server for a stream. */
export async function callTool(
  url: string,
  server: string,
  token: string | undefined,
  caller: string,
): Promise<Called> {
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: {
      name: "whoami",
      arguments: { caller },
      _meta: {
        "io.modelcontextprotocol/protocolVersion": MCP,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      },
    },
  };
  const headers = { "mcp-protocol-version": MCP, "mcp-method": "tools/call", "mcp-name": "whoami" };
  return call(`${url}/mcp/${server}`, token, headers, body);
}

export async function callAgent(
  url: string,
  agent: string,
  token: string | undefined,
  caller: string,
  streams = false,
): Promise<Called> {
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: streams ? "SendStreamingMessage" : "SendMessage",
    params: { message: { messageId: caller, role: "ROLE_USER", parts: [{ text: "who am I" }] } },
  };
  return call(`${url}/a2a/${agent}`, token, { "a2a-version": "1.0" }, body);
}

async function call(url: string, token: string | undefined, headers: object, body: object): Promise<Called> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, code: /"code":"([a-z_]+)"/.exec(text)?.[1] };
}
