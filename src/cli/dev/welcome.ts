/** What `gateway dev` says once it is ready: where everything is, and ways to use it that work as printed. */

import { aliased, quoted } from "./launcher.ts";

export interface DevAddresses {
  readonly gateway: string;
  readonly simulator: string;
  readonly metrics: string | undefined;
  /** Of the admin API. */
  readonly socket: string;
  readonly directory: string;
  readonly nodePath: string;
  readonly suitePath: string;
  /** The virtual key that was minted; good for this node, and for as long as it runs. */
  readonly key: string;
  /** To be called by its path, where the shell does not find `gateway` by name. */
  readonly launcher: string | undefined;
  /** Default addresses that could not be had, each with the reason. */
  readonly moved: readonly string[];
}

/** Lines that tell why something listens elsewhere than the documentation says. */
export const movedLines = (moved: readonly string[]): string => moved.map((why) => `  not at     ${why}\n`).join("");

const MCP_VERSION = "2026-07-28";
const MCP_META = {
  "io.modelcontextprotocol/protocolVersion": MCP_VERSION,
  "io.modelcontextprotocol/clientCapabilities": {},
};

export function welcome(addresses: DevAddresses, isColoured: boolean): string {
  const { gateway, simulator, metrics, socket, directory, nodePath, suitePath, key, launcher, moved } = addresses;
  const bold = (text: string): string => (isColoured ? `\u001b[1m${text}\u001b[22m` : text);
  const dim = (text: string): string => (isColoured ? `\u001b[2m${text}\u001b[22m` : text);
  const mcpCurl = (method: string, params: Readonly<Record<string, unknown>> = {}): string => {
    const name = params["name"] === undefined ? "" : ` -H 'mcp-name: ${String(params["name"])}'`;
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: MCP_META } });
    return `curl ${gateway}/mcp/tools -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' -H 'mcp-protocol-version: ${MCP_VERSION}' -H 'mcp-method: ${method}'${name} -d '${body}'`;
  };
  return `
${bold("gateway dev")}  a gateway in front of a simulated provider, MCP server and agent

  gateway    ${gateway}  ${dim("both dialects")}
  key        ${key}
  simulator  ${simulator}  ${dim("answers with text made up on the spot")}
  metrics    ${metrics ?? "none"}
  admin      ${socket}  ${dim("a socket that only you can open")}
  files      ${directory}  ${dim("configuration and state; gone at the end")}
${movedLines(moved)}
${bold("curl")}

curl ${gateway}/v1/chat/completions -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '{"model":"sim-chat","messages":[{"role":"user","content":"Hello"}]}'

${bold("Guardrails")}  ${dim("the provider, which repeats what it is told, sees neither")}

curl ${gateway}/v1/chat/completions -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '{"model":"sim-chat","messages":[{"role":"user","content":"Bill 4111 1111 1111 1111, mail ada@example.com"}]}'

${bold("OpenAI SDK")}  ${dim("npm install openai")}

import OpenAI from "openai";
const openai = new OpenAI({ baseURL: "${gateway}/v1", apiKey: "${key}" });
const chat = await openai.chat.completions.create({ model: "sim-chat", messages: [{ role: "user", content: "Hello" }] });
console.log(chat.choices[0].message.content);

${bold("Anthropic SDK")}  ${dim("npm install @anthropic-ai/sdk")}

import Anthropic from "@anthropic-ai/sdk";
const anthropic = new Anthropic({ baseURL: "${gateway}", apiKey: "${key}" });
const message = await anthropic.messages.create({ model: "sim-chat", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] });
console.log(message.content[0].text);

${bold("MCP server")}  ${dim("the list hides delete_file, which a rule denies; search is allowed")}

${mcpCurl("tools/list")}
${mcpCurl("tools/call", { name: "search", arguments: { query: "gateways" } })}
${mcpCurl("tools/call", { name: "delete_file", arguments: { path: "/etc/hosts" } })}

${bold("MCP SDK")}  ${dim("npm install @modelcontextprotocol/client")}

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
const client = new Client({ name: "me", version: "1" }, { versionNegotiation: { mode: { pin: "${MCP_VERSION}" } } });
const requestInit = { headers: { authorization: "Bearer ${key}" } };
await client.connect(new StreamableHTTPClientTransport(new URL("${gateway}/mcp/tools"), { requestInit }));
const { content } = await client.callTool({ name: "search", arguments: { query: "gateways" } });
console.log(content[0].text);
await client.close();

${bold("MCP clients")}  ${dim(`those of revision ${MCP_VERSION}; others read -32022`)}

  npm client               versionNegotiation, as above
  Inspector                --protocol-era auto
  Python Client            nothing
  Claude Code, Codex, opencode, mcp-remote   not yet

${bold("Agent")}  ${dim("its card; then a task, streamed")}

curl ${gateway}/a2a/agent/.well-known/agent-card.json
curl -N ${gateway}/a2a/agent -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -H 'a2a-version: 1.0' -d '{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"report 3 200"}]}}}'

${bold("A2A SDK")}  ${dim("npm install @a2a-js/sdk; the address ends with a slash")}

import { SendMessageRequest } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";
const agent = await new ClientFactory().createFromUrl("${gateway}/a2a/agent/");
const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "Hello" }] };
const serviceParameters = { authorization: "Bearer ${key}" };
const answer = await agent.sendMessage(SendMessageRequest.fromJSON({ message }), { serviceParameters });
console.log(JSON.stringify(answer));

${bold("Verbs")}  ${dim("against this gateway; gateway help lists all")}

${launcher === undefined ? "" : `alias gateway=${aliased(launcher)}\n`}export GATEWAY_ADMIN_SOCKET=${quoted(socket)}
gateway query "select name, state, rate, ttfb_p50_ms from backends"
gateway query "select name, state, rate, protocol from mcp_servers"
gateway query "select budget, used, remaining, resets_at from budgets"
gateway admin -d '{"reason":"trying","duration":"1m"}' PUT suspensions/provider:simulator
gateway admin DELETE suspensions/provider:simulator
gateway admin -d '{"name":"me","profile":"developer","metadata":{"approved":"yes"}}' POST keys
gateway query "select name, profile, status, created_at from keys"
gateway guardrails inspect "Bill 4111 1111 1111 1111, not 4111 1111 1111 1112"
gateway guardrails list
gateway -config ${quoted(nodePath)} -test-rules ${quoted(suitePath)}
gateway audit verify ${quoted(`${directory}/audit.jsonl`)}

${bold("Console")}  ${dim("all of it on one screen, where the verbs above were pasted; ? helps")}

gateway console

${bold("Next")}

  "model":"sim-large"  denied by a rule; the key minted last may
  "content":"AKIAZ3PXQ7LMWT5RKD4B"  a key that a guardrail denies
  "model":"fast"       an alias that the gateway translates
  "model":"sim-429"    faults; curl ${simulator}/ lists them
  curl ${metrics ?? `${gateway}/v1/models -H 'authorization: Bearer ${key}'`}

${bold("ready")}  Ctrl-C stops it and leaves nothing behind
`;
}
