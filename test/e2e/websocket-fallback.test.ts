/**
 * Clients that try a WebSocket first, and continue over HTTP when they read 426 (Codex; 400 and 404 end it). Source:
 * design decisions, section 20 (WebSocket where the route is not carried).
 */
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { after, test } from "node:test";
import { WebSocket } from "ws";
import { startWithFiles, twoDialects } from "./support/config.ts";
import { type Gateway, ONE_PROCESS, startWithFlags } from "./support/gateway.ts";
import { simulated } from "./support/simulated.ts";
import { reply, scriptedUpstream } from "./support/upstream.ts";
import { within } from "./support/wait.ts";

const file = { after };
const provider = await simulated(file);
const dull = await scriptedUpstream(file);
const alone = await startWithFlags(file, { upstream: provider.url });
const messagesAlone = await startWithFlags(file, { upstream: provider.url, dialect: "messages" });
const overHttp = await startWithFlags(file, { upstream: dull.url });
const several = await startWithFiles(
  file,
  {
    catalog_overlays: [twoDialects("simulator", provider.url)],
    providers: [
      { preset: "simulator", models: ["sim-*"], model_aliases: { talk: "sim-realtime" } },
      { name: "am", dialect: "messages", base_url: `${provider.url}/v1`, models: ["claude-*"] },
    ],
    mcp: [{ name: "tools", url: `${provider.url}/mcp` }],
    a2a: [{ name: "agent", url: `${provider.url}/a2a` }],
    default_provider: "simulator",
  },
  {},
  ONE_PROCESS,
);

interface Handshake {
  readonly status: number;
  readonly upgrade: string | undefined;
  readonly body: string;
}

function handshake({ url }: Gateway, path: string): Promise<Handshake> {
  return within(
    `the handshake at ${path}`,
    new Promise<Handshake>((done) => {
      const socket = new WebSocket(url.replace("http", "ws") + path);
      socket.on("error", () => undefined);
      socket.once("open", () => {
        socket.terminate();
        done({ status: 101, upgrade: undefined, body: "" });
      });
      socket.once("unexpected-response", (_request, response: IncomingMessage) => {
        let body = "";
        response.setEncoding("utf8").on("data", (text: string) => {
          body += text;
        });
        response.on("end", () => done({ status: response.statusCode ?? 0, upgrade: response.headers.upgrade, body }));
      });
    }),
  );
}

for (const [what, gateway, path, status] of [
  ["one provider alone", alone, "/v1/responses", 101],
  ["one provider alone, and a model", alone, "/v1/responses?model=sim-1", 101],
  ["several providers", several, "/v1/responses", 426],
  ["several providers, and a model", several, "/v1/responses?model=sim-1", 101],
  ["a model whose provider has no responses", several, "/v1/responses?model=claude-4", 426],
  ["a provider of messages", messagesAlone, "/v1/responses", 426],
  ["a provider of messages", messagesAlone, "/v1/responses?model=claude-4", 426],
  ["a provider of messages", messagesAlone, "/v1/realtime?model=claude-4", 426],
  ["a model whose provider has no sessions", several, "/v1/realtime?model=claude-4", 426],
  ["a session of its own route", several, "/v1/realtime?model=talk", 101],
  ["a route of HTTP", several, "/v1/messages", 426],
  ["a route of HTTP", several, "/v1/messages/batches", 426],
  ["a route of HTTP", alone, "/v1/chat/completions", 426],
  ["a route of HTTP", alone, "/v1/models", 426],
  ["a server", several, "/mcp/tools", 426],
  ["an agent", several, "/a2a/agent", 426],
  ["a card", several, "/a2a/agent/.well-known/agent-card.json", 426],
  ["the registry", several, "/registry/v0.1/servers", 426],
  ["a document", several, "/.well-known/oauth-protected-resource", 426],
  ["no route", several, "/nowhere", 404],
] as const) {
  test(`a session with ${what} at ${path} is answered ${status}`, async () => {
    const answer = await handshake(gateway, path);
    assert.equal(answer.status, status, answer.body);
    if (status !== 426) return;
    assert.equal(answer.upgrade, "HTTP/1.1");
    const { error } = JSON.parse(answer.body) as {
      readonly error: { readonly code: string; readonly message: string };
    };
    assert.equal(error.code, "websocket_not_carried");
    assert.match(error.message, /by HTTP/);
  });
}

for (const refused of [400, 404, 405, 501]) {
  test(`if the provider answers the handshake ${refused}, it has no responses sessions and its client reads 426`, async () => {
    dull.script = (socket) => reply(socket, { status: refused, body: '{"error":{"message":"no"}}' });
    assert.equal((await handshake(overHttp, "/v1/responses")).status, 426);
    // On other routes the provider's own answer passes.
    assert.equal((await handshake(overHttp, "/v1/realtime?model=x")).status, refused);
  });
}

test("another refusal of the provider reaches the client", async () => {
  for (const status of [401, 403, 429, 500]) {
    dull.script = (socket) => reply(socket, { status, body: '{"error":{"message":"no"}}' });
    assert.deepEqual(await handshake(overHttp, "/v1/responses"), {
      status,
      upgrade: undefined,
      body: '{"error":{"message":"no"}}',
    });
  }
});
