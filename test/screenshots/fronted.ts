/**
 * An MCP server and an agent for the pictures, in one program. It answers every call alike, except that a share of
 * those at `/files` gets 503.
 */

import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { listenLocally } from "../e2e/support/ports.ts";
import { atEnd, type Owner } from "../e2e/support/wait.ts";

const REVISION = "2026-07-28";

/** The calls in the pictures, made in turn: of a tool, or of an agent. */
export const CALLS: readonly { readonly path: string; readonly tool?: string }[] = [
  { path: "/mcp/tickets", tool: "find" },
  { path: "/mcp/files", tool: "read" },
  { path: "/mcp/tickets", tool: "file" },
  { path: "/a2a/planner" },
];

/** Returns `http://127.0.0.1:port`. */
export async function startFronted(owner: Owner): Promise<string> {
  let reads = 0;
  const server = createServer((incoming, response) => {
    json(incoming)
      .then((body) => {
        const { id, method } = body as { readonly id: unknown; readonly method: string };
        if (incoming.url === "/files") reads += 1;
        if (incoming.url === "/files" && reads % 5 !== 0) {
          response.writeHead(503, { "content-type": "text/plain" }).end("The share is not mounted.");
          return;
        }
        const text = "It is done.";
        const result =
          method === "SendMessage"
            ? { message: { messageId: "m-2", role: "ROLE_AGENT", parts: [{ text }] } }
            : { resultType: "complete", content: [{ type: "text", text }] };
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      })
      .catch(() => response.destroy());
  });
  const url = `http://127.0.0.1:${await listenLocally(server)}`;
  atEnd(owner, () => {
    server.closeAllConnections();
    server.close();
  });
  return url;
}

/** The texts contain words that guardrails look for. */
export async function callFronted(gateway: string, key: string, { path, tool }: (typeof CALLS)[number]): Promise<void> {
  const text = "Tell desk@example.com what came of it.";
  const method = tool === undefined ? "SendMessage" : "tools/call";
  const params =
    tool === undefined
      ? { message: { messageId: "m-1", role: "ROLE_USER", parts: [{ text }] } }
      : {
          name: tool,
          arguments: { text },
          _meta: {
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        };
  const answer = await fetch(gateway + path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${key}`,
      ...(tool === undefined
        ? { "a2a-version": "1.0" }
        : { "mcp-protocol-version": REVISION, "mcp-method": method, "mcp-name": tool }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  await answer.text();
}
