/** The requests of the bench as bytes: HTTP/1.1, keep-alive, the headers of an SDK. */

import { readFileSync, statSync } from "node:fs";

type RequestKind = "unary" | "stream" | "large-request" | "large-answer" | "mcp-call";

/** Path of a tool call, at the gateway and at the upstream. */
export const MCP_PATH = "/mcp/bench";
const MCP_TOOL = "find_orders";

export interface RequestShape {
  readonly kind: RequestKind;
  readonly model: string;
  /**
   * File with one credential per line, all of one length, each used once, in random order, before any repeats; an
   * unknown one by default.
   */
  readonly credentials?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Dialect of the client; compat by default. */
  readonly dialect?: "compat" | "messages" | "responses";
  /** An agent's turn of about 2 KB: a tool, its call and its result, instead of a question alone. */
  readonly hasTools?: true;
  /** A conversation with this many turns of about 1 KB of prose, of which the newest differs in each request. */
  readonly turns?: number;
}

/** Whole requests, sent one after the other in a loop. */
export interface TextShape {
  readonly kind: "texts";
  readonly texts: readonly string[];
}

/** Body bytes of a unary request, like a short chat; a large one has 1 MiB. */
const SMALL_BODY_BYTES = 1_000;
const LARGE_BODY_BYTES = 1 << 20;
const UNKNOWN_CREDENTIAL = "bench-client-credential";

/** Returns the bytes of one request after the other; earlier results are not overwritten. */
export function createRequests(shape: RequestShape | TextShape, port: number): () => Buffer {
  if (shape.kind === "texts") return inTurn(shape.texts.map((text) => Buffer.from(text)));
  if (shape.turns !== undefined) return withFreshTurns(shape, port);
  if (shape.credentials === undefined) return inTurn([buildRequest(shape, port, UNKNOWN_CREDENTIAL)]);
  return withCredentials(shape, port, readShuffled(shape.credentials));
}

function inTurn(requests: readonly Buffer[]): () => Buffer {
  let at = 0;
  return () => {
    const bytes = requests[at % requests.length];
    at += 1;
    if (bytes === undefined) throw new Error("a load without requests");
    return bytes;
  };
}

/** Copies the first for each, with another credential: 100,000 whole requests would not fit a cache. */
function withCredentials(shape: RequestShape, port: number, credentials: readonly string[]): () => Buffer {
  const [first = ""] = credentials;
  const template = buildRequest(shape, port, first);
  if (credentials.length === 1) return () => template;
  const at = template.indexOf(first, 0, "latin1");
  let sent = 0;
  return () => {
    const bytes = Buffer.from(template);
    bytes.write(credentials[sent % credentials.length] ?? first, at, "latin1");
    sent += 1;
    return bytes;
  };
}

/** Digits that differ in each request and occur nowhere else in it. */
const FRESH = "5550001";

function withFreshTurns(shape: RequestShape, port: number): () => Buffer {
  const [credential = UNKNOWN_CREDENTIAL] = shape.credentials === undefined ? [] : readShuffled(shape.credentials);
  const template = buildRequest(shape, port, credential);
  const at = template.lastIndexOf(FRESH, undefined, "latin1");
  let sent = 0;
  return () => {
    const bytes = Buffer.from(template);
    bytes.write(String(Number(FRESH) + (sent % 1_000_000)), at, "latin1");
    sent += 1;
    return bytes;
  };
}

/** Another file may get the same name: each size of a bench has its own keys. */
let lastRead:
  | { readonly file: string; readonly writtenAt: number; readonly credentials: readonly string[] }
  | undefined;

function readShuffled(file: string): readonly string[] {
  const { mtimeMs: writtenAt } = statSync(file);
  if (lastRead?.file !== file || lastRead.writtenAt !== writtenAt) {
    const credentials = readFileSync(file, "latin1").trimEnd().split("\n");
    const [{ length } = ""] = credentials;
    if (length === 0 || credentials.some((credential) => credential.length !== length)) {
      throw new Error(`${file} does not hold credentials of one length`);
    }
    lastRead = { file, writtenAt, credentials: shuffle(credentials) };
  }
  return lastRead.credentials;
}

/** Fisher-Yates shuffle, the same in every run. */
function shuffle(values: readonly string[]): readonly string[] {
  const shuffled = [...values];
  let random = 1;
  for (let last = shuffled.length - 1; last > 0; last -= 1) {
    // Linear congruential, modulus 2^32, whose high bits are random enough to defeat every cache.
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    const other = Math.floor((random / 2 ** 32) * (last + 1));
    const value = shuffled[last] ?? "";
    shuffled[last] = shuffled[other] ?? "";
    shuffled[other] = value;
  }
  return shuffled;
}

const PATHS = { compat: "/v1/chat/completions", messages: "/v1/messages", responses: "/v1/responses" } as const;

function buildRequest(shape: RequestShape, port: number, credential: string): Buffer {
  const body = buildBody(shape);
  const isMessages = shape.dialect === "messages";
  const isCall = shape.kind === "mcp-call";
  const head = [
    `POST ${isCall ? MCP_PATH : PATHS[shape.dialect ?? "compat"]} HTTP/1.1`,
    ...(isMessages ? ["anthropic-version: 2023-06-01"] : []),
    ...(isCall ? [`MCP-Protocol-Version: ${MCP_VERSION}`, "Mcp-Method: tools/call", `Mcp-Name: ${MCP_TOOL}`] : []),
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${credential}`,
    "Content-Type: application/json",
    `Accept: application/json${isCall ? ", text/event-stream" : ""}`,
    "User-Agent: bench/1.0",
    ...Object.entries(shape.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${body.length}`,
    "",
    "",
  ].join("\r\n");
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

/** Model and stream come first, since the bench's upstream reads only the first bytes. */
function buildBody(shape: RequestShape): Buffer {
  if (shape.kind === "mcp-call") return Buffer.from(JSON.stringify(toolCall()));
  if (shape.turns !== undefined) return Buffer.from(JSON.stringify(conversation(shape, shape.turns)));
  if (shape.hasTools === true) return Buffer.from(JSON.stringify(agentTurn(shape)));
  const size = shape.kind === "large-request" ? LARGE_BODY_BYTES : SMALL_BODY_BYTES;
  const model = shape.kind === "large-answer" ? "bench-large-answer" : shape.model;
  const about = {
    model,
    ...(shape.kind === "stream" ? { stream: true } : {}),
    temperature: 0.2,
    messages: [
      { role: "system", content: "Answer briefly." },
      { role: "user", content: "" },
    ],
  };
  const rest = size - Buffer.byteLength(JSON.stringify(about));
  const sentence = "How vexingly quick daft zebras jump. ";
  about.messages[1] = { role: "user", content: sentence.repeat(Math.ceil(rest / sentence.length)).slice(0, rest) };
  return Buffer.from(JSON.stringify(about));
}

/** About 1 KB of typical prose at work: names, days, amounts, and no secret. */
const PROSE =
  "The delivery for the new shop in Bristol was supposed to arrive on Tuesday, but the carrier called this morning and " +
  "said that two of the nine pallets are still in the depot. Could you write a short and friendly message to the team " +
  "there, explaining that we expect the rest by Friday afternoon? They should not unpack the shelves before that, since " +
  "the fittings are in the missing boxes. Last year we had a similar problem with the order of 240 chairs, and it cost us " +
  "about 1,300 pounds in overtime. Please also mention that the opening stays on the 14th, that the electrician comes a " +
  "day earlier at 8:30, and that the keys are with the neighbour in number 17. If somebody asks about the invoice, tell " +
  "them that accounting has it and pays within 30 days, less the 2.5 % that we agreed on. Keep it under 150 words, use " +
  "British spelling, and leave out the usual phrases. At the end, add one sentence that thanks them for their patience " +
  "and one that says whom to ask when something is broken.";

function conversation({ kind, model }: RequestShape, turns: number): object {
  const earlier = Array.from({ length: turns - 1 }, (_, turn) => ({
    role: turn % 2 === turns % 2 ? "assistant" : "user",
    content: `${turn + 1}. ${PROSE}`,
  }));
  return {
    model,
    ...(kind === "stream" ? { stream: true } : {}),
    temperature: 0.2,
    messages: [...earlier, { role: "user", content: `Shipment ${FRESH}: ${PROSE}` }],
  };
}

const MCP_VERSION = "2026-07-28";

/** Formatted like official clients, with arguments that make it about 1 KB. */
function toolCall(): object {
  const params = {
    name: MCP_TOOL,
    arguments: { ...INPUT, note: QUESTION.repeat(6) },
    _meta: {
      "io.modelcontextprotocol/protocolVersion": MCP_VERSION,
      "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0" },
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  };
  return { method: "tools/call", params, jsonrpc: "2.0", id: 1 };
}

const INPUT = { customer: "c-4711", status: ["open", "shipped"], limit: 25, since: "2026-01-01" };
const SCHEMA = {
  type: "object",
  properties: {
    customer: { type: "string", description: "Number of the customer, as in the order." },
    status: { type: "array", items: { type: "string", enum: ["open", "shipped", "returned"] } },
    limit: { type: "integer", minimum: 1, maximum: 100 },
    since: { type: "string", format: "date" },
  },
  required: ["customer"],
};
const SYSTEM = "You help the people of a warehouse. Use the tools; never guess the number of an order. ".repeat(4);
const QUESTION = "Which orders of customer c-4711 are open, and which of them should have left the house already? ";
const RESULT = JSON.stringify([{ order: "o-1", status: "open", lines: 3, due: "2026-02-01" }]).repeat(6);

/** The same turn in each dialect. */
function agentTurn({ kind, model, dialect }: RequestShape): object {
  if (dialect === "responses") {
    return {
      model,
      ...(kind === "stream" ? { stream: true } : {}),
      temperature: 0.2,
      max_output_tokens: 1_000,
      instructions: SYSTEM,
      tools: [{ type: "function", name: MCP_TOOL, description: "Finds orders.", parameters: SCHEMA, strict: false }],
      input: [
        { role: "user", content: QUESTION },
        { type: "function_call", call_id: "call_1", name: MCP_TOOL, arguments: JSON.stringify(INPUT) },
        { type: "function_call_output", call_id: "call_1", output: RESULT },
      ],
    };
  }
  const about = { model, ...(kind === "stream" ? { stream: true } : {}), temperature: 0.2, max_tokens: 1_000 };
  if (dialect === "messages") {
    return {
      ...about,
      system: SYSTEM,
      tools: [{ name: MCP_TOOL, description: "Finds orders.", input_schema: SCHEMA }],
      messages: [
        { role: "user", content: QUESTION },
        { role: "assistant", content: [{ type: "tool_use", id: "call_1", name: MCP_TOOL, input: INPUT }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: RESULT }] },
      ],
    };
  }
  const call = { id: "call_1", type: "function", function: { name: MCP_TOOL, arguments: JSON.stringify(INPUT) } };
  return {
    ...about,
    tools: [{ type: "function", function: { name: MCP_TOOL, description: "Finds orders.", parameters: SCHEMA } }],
    messages: [
      { role: "system", content: SYSTEM },
      { role: "user", content: QUESTION },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: RESULT },
    ],
  };
}
