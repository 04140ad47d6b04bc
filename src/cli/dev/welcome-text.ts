/** Text that `gateway dev` prints once it is ready: addresses, and commands and snippets that work as printed. */

import { quoteForAlias, quoteForShell } from "./find-launcher.ts";

export interface DevAddresses {
  readonly gateway: string;
  readonly simulator: string;
  readonly metrics: string | undefined;
  /** Path of the admin socket. */
  readonly socket: string;
  readonly directory: string;
  readonly nodePath: string;
  readonly suitePath: string;
  /** Virtual key that was minted for this node; it is valid while the node runs. */
  readonly key: string;
  /** Path of the launcher, if the shell does not find `gateway` by name. */
  readonly launcher: string | undefined;
  /** Default addresses that were taken, each with the reason. */
  readonly movedReasons: readonly string[];
}

/** Returns lines that explain why something does not listen on its documented address. */
export const movedLines = (movedReasons: readonly string[]): string =>
  movedReasons.map((reason) => `  not at     ${reason}\n`).join("");

const MCP_VERSION = "2026-07-28";
const MCP_META = {
  "io.modelcontextprotocol/protocolVersion": MCP_VERSION,
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Printed section: a heading, a note beside it, and lines to copy or read. */
interface Section {
  readonly title: string;
  readonly note?: string;
  readonly lines: readonly string[];
}

/** Returns the text. With `isWhole` it has every section; otherwise those for the first minutes, in at most 40 lines. */
export function welcome(addresses: DevAddresses, isColored: boolean, isWhole: boolean): string {
  const { gateway, simulator, metrics, socket, directory, key, movedReasons } = addresses;
  const bold = (text: string): string => (isColored ? `\u001b[1m${text}\u001b[22m` : text);
  const dim = (text: string): string => (isColored ? `\u001b[2m${text}\u001b[22m` : text);
  const sections = [...firstSections(addresses), ...(isWhole ? furtherSections(addresses) : [])];
  const text = sections.map(
    ({ title, note, lines }) =>
      `${bold(title)}${note === undefined ? "" : `  ${dim(note)}`}\n\n${lines.join("\n")}\n\n`,
  );
  return `
${bold("gateway dev")}  a gateway in front of a simulated provider, MCP server and agent

  gateway    ${gateway}  ${dim("both dialects")}
  key        ${key}
  simulator  ${simulator}  ${dim("invents its answers; open / for faults")}
  metrics    ${metrics ?? "none"}
  admin      ${socket}  ${dim("a socket that only you can open")}
  files      ${directory}  ${dim("configuration and state; temporary")}
${movedLines(movedReasons)}
${text.join("")}${bold("ready")}  ${isWhole ? "Ctrl-C stops it and deletes its files" : "Ctrl-C stops it; gateway dev -more adds SDKs, MCP, an agent and more verbs"}
`;
}

const chatCurl = ({ gateway, key }: DevAddresses, content: string): string =>
  `curl ${gateway}/v1/chat/completions -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '{"model":"sim-chat","messages":[{"role":"user","content":"${content}"}]}'`;

function firstSections(addresses: DevAddresses): readonly Section[] {
  const { socket, launcher, key } = addresses;
  return [
    { title: "curl", lines: [chatCurl(addresses, "Hello")] },
    {
      title: "Guardrails",
      note: "the provider sees neither the card nor the address",
      lines: [chatCurl(addresses, "Bill 4111 1111 1111 1111, mail ada@example.com")],
    },
    {
      title: "Verbs",
      note: "in another shell; gateway help lists all",
      lines: [
        ...(launcher === undefined ? [] : [`alias gateway=${quoteForAlias(launcher)}`]),
        `export GATEWAY_ADMIN_SOCKET=${quoteForShell(socket)}`,
        `export KEY=${key}`,
        "gateway status",
        "gateway get requests",
        "gateway suspend provider:simulator -reason trying -for 1m -yes",
        "gateway lift provider:simulator -yes",
        "gateway keys mint me -profile developer -metadata approved=yes",
        "gateway get keys -columns name,profile,status",
      ],
    },
    { title: "Console", note: "all of it on one screen; ? shows its keys", lines: ["gateway console"] },
  ];
}

function furtherSections(addresses: DevAddresses): readonly Section[] {
  const { gateway, key, simulator, metrics, directory, nodePath, suitePath } = addresses;
  const mcpCurl = (method: string, params: Readonly<Record<string, unknown>> = {}): string => {
    const name = params["name"] === undefined ? "" : ` -H 'mcp-name: ${String(params["name"])}'`;
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: MCP_META } });
    return `curl ${gateway}/mcp/tools -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' -H 'mcp-protocol-version: ${MCP_VERSION}' -H 'mcp-method: ${method}'${name} -d '${body}'`;
  };
  return [
    {
      title: "More verbs",
      lines: [
        'gateway query "select name, state, rate, ttfb_p50_ms from backends"',
        'gateway query "select name, state, rate, protocol from mcp_servers"',
        'gateway query "select budget, used, remaining, resets_at from budgets"',
        'gateway guardrails inspect "Bill 4111 1111 1111 1111, not 4111 1111 1111 1112"',
        "gateway guardrails list",
        `gateway -config ${quoteForShell(nodePath)} -test-rules ${quoteForShell(suitePath)}`,
        `gateway audit verify ${quoteForShell(`${directory}/audit.jsonl`)}`,
      ],
    },
    {
      title: "Try",
      lines: [
        '  "model":"sim-large"  denied by a rule, except for the key `me`',
        '  "content":"AKIAZ3PXQ7LMWT5RKD4B"  a key that a guardrail denies',
        '  "model":"fast"       an alias that the gateway translates',
        `  "model":"sim-429"    a fault; curl ${simulator}/ lists them`,
        `  curl ${metrics ?? `${gateway}/v1/models -H 'authorization: Bearer ${key}'`}`,
      ],
    },
    {
      title: "OpenAI SDK",
      note: "npm install openai",
      lines: [
        'import OpenAI from "openai";',
        `const openai = new OpenAI({ baseURL: "${gateway}/v1", apiKey: "${key}" });`,
        'const chat = await openai.chat.completions.create({ model: "sim-chat", messages: [{ role: "user", content: "Hello" }] });',
        "console.log(chat.choices[0].message.content);",
      ],
    },
    {
      title: "Anthropic SDK",
      note: "npm install @anthropic-ai/sdk",
      lines: [
        'import Anthropic from "@anthropic-ai/sdk";',
        `const anthropic = new Anthropic({ baseURL: "${gateway}", apiKey: "${key}" });`,
        'const message = await anthropic.messages.create({ model: "sim-chat", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] });',
        "console.log(message.content[0].text);",
      ],
    },
    {
      title: "MCP server",
      note: "the list hides delete_file, which a rule denies; search is allowed",
      lines: [
        mcpCurl("tools/list"),
        mcpCurl("tools/call", { name: "search", arguments: { query: "gateways" } }),
        mcpCurl("tools/call", { name: "delete_file", arguments: { path: "/etc/hosts" } }),
      ],
    },
    {
      title: "MCP SDK",
      note: "npm install @modelcontextprotocol/client",
      lines: [
        'import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";',
        `const client = new Client({ name: "me", version: "1" }, { versionNegotiation: { mode: { pin: "${MCP_VERSION}" } } });`,
        `const requestInit = { headers: { authorization: "Bearer ${key}" } };`,
        `await client.connect(new StreamableHTTPClientTransport(new URL("${gateway}/mcp/tools"), { requestInit }));`,
        'const { content } = await client.callTool({ name: "search", arguments: { query: "gateways" } });',
        "console.log(content[0].text);",
        "await client.close();",
      ],
    },
    {
      title: "MCP clients",
      note: `must speak revision ${MCP_VERSION}; others get error -32022`,
      lines: [
        "  npm client               versionNegotiation, as above",
        "  npm sdk 1.x              not supported: use the npm client",
        "  Inspector 2.x            --protocol-era auto",
        "  Python Client 2.x        nothing",
        "  Claude Code 2.1.332      nothing",
        "  Codex, opencode, mcp-remote   not yet",
      ],
    },
    {
      title: "Agent",
      note: "its card; then a task, streamed",
      lines: [
        `curl ${gateway}/a2a/agent/.well-known/agent-card.json`,
        `curl -N ${gateway}/a2a/agent -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -H 'a2a-version: 1.0' -d '{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"report 3 200"}]}}}'`,
      ],
    },
    {
      title: "A2A SDK",
      note: "npm install @a2a-js/sdk; the address ends with a slash",
      lines: [
        'import { SendMessageRequest } from "@a2a-js/sdk";',
        'import { ClientFactory } from "@a2a-js/sdk/client";',
        `const agent = await new ClientFactory().createFromUrl("${gateway}/a2a/agent/");`,
        'const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "Hello" }] };',
        `const serviceParameters = { authorization: "Bearer ${key}" };`,
        "const answer = await agent.sendMessage(SendMessageRequest.fromJSON({ message }), { serviceParameters });",
        "console.log(JSON.stringify(answer));",
      ],
    },
  ];
}
