/**
 * WebSocket routes: `/v1/realtime?model=` and `/v1/responses`.
 *
 * The model in the query selects faults of the handshake (statuses, slow, never, garbage, dropped, not HTTP); other
 * faults apply to each `response.create`. Events of a client are answered one after the other; a client that sends
 * faster than it is answered is closed with 1008 when its queue is full.
 */

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { errorBody, errorTypes, Refused } from "./dialect-errors.ts";
import { type Fault, MAX_WAIT_MS, parseFault } from "./fault-table.ts";
import { type JsonObject, objectOf, parseJson, stringOf } from "./json-fields.ts";
import type { Memory } from "./provider-memory.ts";
import { answerClientEvent, openSession, realtimeError, respond, sessionEvent } from "./realtime-session.ts";
import { countModel, countRoute, countTokens, type Tally } from "./request-counters.ts";
import { type ResponseEvent, streamResponses } from "./responses/index.ts";
import { type Call, NO_TOKENS, type Tokens } from "./route-types.ts";

/** Maximum size of a message, since an event may contain audio or an image. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** Maximum number of events of one client that wait to be answered. */
const MAX_QUEUE = 256;

/** Idle timeout of a session, in milliseconds without a message from its client. */
const IDLE_MS = 600_000;

/** Maximum number of buffered bytes. Above it, the next event waits until the socket has drained. */
const MAX_BUFFERED_BYTES = 256 * 1024;

const EVENTS_BEFORE_CUT = 4;

/** Prefix of the subprotocol in which browsers send their key, since they cannot set headers. */
const KEY_PROTOCOL = "openai-insecure-api-key.";

interface SocketPorts {
  readonly tally: Tally;
  readonly memory: Memory;
  /** Returns the serial number of the next request. */
  readonly nextSerial: () => number;
  readonly requestIdOf: (serial: number) => string;
  /** Required key; `undefined` accepts any. */
  readonly requireKey: string | undefined;
  readonly keyOf: (request: IncomingMessage) => string | undefined;
}

interface WebSocketSessions {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  close(): void;
}

type Upgrade = { readonly request: IncomingMessage; readonly socket: Duplex; readonly head: Buffer };

export function createWebSocketSessions(ports: SocketPorts): WebSocketSessions {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    handleProtocols: (offered) => (offered.has("realtime") ? "realtime" : false),
  });
  return {
    upgrade(request, socket, head) {
      socket.on("error", () => socket.destroy()); // A reset during the handshake needs no handling.
      void acceptUpgrade(server, ports, { request, socket, head });
    },
    close() {
      for (const client of server.clients) client.terminate();
      server.close();
    },
  };
}

async function acceptUpgrade(server: WebSocketServer, ports: SocketPorts, upgrade: Upgrade): Promise<void> {
  const { request, socket, head } = upgrade;
  const { tally } = ports;
  const serial = ports.nextSerial();
  const url = new URL(request.url ?? "/", "http://simulated");
  const isRealtime = url.pathname === "/v1/realtime";
  const model = (url.searchParams.get("model") ?? "sim-realtime").slice(0, 1_000);
  tally.requests += 1;
  const refuse = (status: number, message: string) => {
    tally.answered += 1;
    refuseUpgrade(socket, { status, message, requestId: ports.requestIdOf(serial) });
  };
  countRoute(tally, isRealtime ? "realtime" : url.pathname === "/v1/responses" ? "responses_ws" : "unknown");
  if (!isRealtime && url.pathname !== "/v1/responses") return refuse(404, "There is no such WebSocket.");
  if (ports.requireKey !== undefined && keyOfUpgrade(ports, request) !== ports.requireKey) {
    return refuse(401, "The credential is missing or not the one expected.");
  }
  const fault: Fault = isRealtime ? parseFault(model) : { kind: "none" };
  if (isRealtime) countModel(tally, model);
  switch (fault.kind) {
    case "status":
      return refuse(fault.status, `The model name asked for a ${fault.status}.`);
    case "unreadable":
      return refuse(400, `The model name is not of the form ${fault.name}.`);
    case "drop-before-headers":
    case "bad-http":
      tally.dropped += 1;
      if (fault.kind === "bad-http") socket.end("THIS IS NOT HTTP\r\n\r\n", () => socket.destroy());
      else socket.destroy();
      return;
    case "garbage":
      return refuse(200, "The model name asked for an answer that is no WebSocket.");
    case "slow":
    case "never":
      if (!(await pauseSocket(socket, fault.kind === "slow" ? fault.ms : MAX_WAIT_MS)) || fault.kind === "never") {
        tally.aborted += 1;
        socket.destroy();
        return;
      }
      break;
    default:
  }
  server.handleUpgrade(request, socket, head, (client) => {
    serveClient(
      client,
      socket,
      isRealtime ? realtimeProtocol(ports, model, serial, fault) : responsesProtocol(ports, serial),
      ports,
    );
  });
}

function keyOfUpgrade(ports: SocketPorts, request: IncomingMessage): string | undefined {
  const offered = String(request.headers["sec-websocket-protocol"] ?? "").split(",");
  const protocol = offered.map((each) => each.trim()).find((each) => each.startsWith(KEY_PROTOCOL));
  return ports.keyOf(request) ?? protocol?.slice(KEY_PROTOCOL.length);
}

function refuseUpgrade(socket: Duplex, facts: { status: number; message: string; requestId: string }): void {
  const body = errorBody("compat", { ...facts, param: null });
  const retry = facts.status === 429 ? "retry-after: 1\r\n" : "";
  socket.end(
    `HTTP/1.1 ${facts.status} Refused\r\nconnection: close\r\ncontent-type: application/json\r\n${retry}` +
      `x-request-id: ${facts.requestId}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}

function pauseSocket(socket: Duplex, ms: number): Promise<boolean> {
  return new Promise((done) => {
    if (socket.destroyed) return done(false);
    const onClose = () => {
      clearTimeout(timer);
      done(false);
    };
    const timer = setTimeout(() => {
      socket.off("close", onClose);
      done(true);
    }, ms);
    socket.once("close", onClose);
  });
}

/** Reply to one event of the client. */
interface EventReply {
  readonly events: Iterable<string>;
  /** Returns the end of a reply that fails after `sent` of its events. */
  readonly failure: (sent: number) => readonly string[];
  readonly fault: Fault;
  readonly model: string;
  readonly tokens: Tokens;
}

interface SessionProtocol {
  /** Event that is sent when the socket opens; `undefined` if there is none. */
  readonly greeting: string | undefined;
  answer(event: JsonObject): EventReply;
  errorText(status: number, message: string): string;
}

function realtimeProtocol({ memory }: SocketPorts, model: string, serial: number, fault: Fault): SessionProtocol {
  const session = openSession(model, serial);
  const errorText = (status: number, message: string) => JSON.stringify(realtimeError(status, message, undefined));
  const failure = () => [errorText(500, "The simulated provider failed within the answer.")];
  return {
    greeting: JSON.stringify(sessionEvent("session.created", session, {})),
    answer(event) {
      if (event["type"] !== "response.create") {
        const events = answerClientEvent(session, event).map((each) => JSON.stringify(each));
        return { events, failure, fault: { kind: "none" }, model, tokens: NO_TOKENS };
      }
      const { events, tokens } = respond(session, event, fault, memory);
      return { events: texts(events), failure, fault, model, tokens };
    },
    errorText,
  };
}

function* texts(events: Iterable<JsonObject>): Generator<string> {
  for (const event of events) yield JSON.stringify(event);
}

function responsesProtocol(ports: SocketPorts, serial: number): SessionProtocol {
  const errorText = (status: number, message: string) => {
    const { compatType, compatCode } = errorTypes(status);
    const errorFields = { code: compatCode, message, param: null };
    const error = { type: compatType, ...errorFields };
    return JSON.stringify({ type: "error", status, error, ...errorFields, sequence_number: 0 });
  };
  const refusal = (status: number, message: string): EventReply => ({
    events: [errorText(status, message)],
    failure: () => [],
    fault: { kind: "none" },
    model: "",
    tokens: NO_TOKENS,
  });
  let responseCount = 0;
  return {
    greeting: undefined,
    answer(event) {
      if (event["type"] !== "response.create") return refusal(400, "Only response.create is understood.");
      const model = stringOf(event["model"]) ?? "sim-large";
      const fault = parseFault(model);
      countModel(ports.tally, model);
      if (fault.kind === "status") return refusal(fault.status, `The model name asked for a ${fault.status}.`);
      if (fault.kind === "unreadable") return refusal(400, `The model name is not of the form ${fault.name}.`);
      responseCount += 1;
      const call: Call = {
        dialect: "compat",
        model,
        fault,
        body: event,
        form: [],
        byteCount: 0,
        headers: {},
        serial: responseCount === 1 ? serial : ports.nextSerial(),
        requestId: ports.requestIdOf(serial),
        now: Math.floor(Date.now() / 1_000),
        memory: ports.memory,
      };
      const { events, failure, tokens } = streamResponses(call);
      const textOf = ({ json }: ResponseEvent): string => json;
      return {
        events: Array.from(events, textOf),
        failure: (sent) => failure(sent).map(textOf),
        fault,
        model,
        tokens,
      };
    },
    errorText,
  };
}

/**
 * Serves one client: answers its events one after the other, and closes the socket of a client that is idle or sends
 * faster than it is answered.
 */
function serveClient(client: WebSocket, socket: Duplex, protocol: SessionProtocol, { tally }: SocketPorts): void {
  const session: ClientSession = { client, socket, tally, isClosedByServer: false };
  let queuedEvents = 0;
  let lastAnswer: Promise<void> = Promise.resolve();
  const idle = setTimeout(() => closeSession(session, 1001, "idle"), IDLE_MS);

  client.on("message", (bytes: Buffer, isBinary) => {
    idle.refresh();
    tally.bytesIn += bytes.length;
    if (isBinary) return closeSession(session, 1003, "events are text");
    if (queuedEvents >= MAX_QUEUE) return closeSession(session, 1008, "too many events are waiting");
    queuedEvents += 1;
    lastAnswer = lastAnswer
      .then(() => answerEvent(session, protocol, bytes.toString("utf8")))
      .finally(() => {
        queuedEvents -= 1;
      });
  });
  client.on("error", () => client.terminate()); // The frames are invalid, or a message exceeds the limit.
  client.on("close", (code) => {
    clearTimeout(idle);
    if (code === 1006 && !session.isClosedByServer) tally.aborted += 1;
    else if (code === 1006) tally.dropped += 1;
    else tally.answered += 1;
  });
  if (protocol.greeting !== undefined) void sendText(session, protocol.greeting);
}

interface ClientSession {
  readonly client: WebSocket;
  readonly socket: Duplex;
  readonly tally: Tally;
  /** True if the simulator closed the socket, so that its end does not count as the client's. */
  isClosedByServer: boolean;
}

function closeSession(session: ClientSession, code: number, reason: string): void {
  session.isClosedByServer = true;
  session.client.close(code, reason);
}

/** Sends a text, and waits until it is written if much is buffered. */
async function sendText({ client, tally }: ClientSession, text: string): Promise<void> {
  tally.bytesOut += Buffer.byteLength(text);
  if (client.bufferedAmount < MAX_BUFFERED_BYTES) client.send(text);
  else await new Promise<void>((done) => client.send(text, () => done()));
}

async function answerEvent(session: ClientSession, protocol: SessionProtocol, text: string): Promise<void> {
  try {
    await sendReply(session, protocol.answer(eventOf(text)));
  } catch (error) {
    const { status, message } =
      error instanceof Refused ? error : { status: 500, message: "The simulated provider has an internal error." };
    await sendText(session, protocol.errorText(status, message));
  }
}

/** Sends the events of a reply, with the fault that the model name selects. */
async function sendReply(session: ClientSession, reply: EventReply): Promise<void> {
  const { client, socket, tally } = session;
  const { events, fault, model, tokens } = reply;
  if (fault.kind === "slow" && !(await pauseSocket(socket, fault.ms))) return;
  if (fault.kind === "never" || fault.kind === "empty") return;
  if (fault.kind === "garbage") return sendText(session, "<html>");
  if (fault.kind === "error-first-event") return sendFailure(session, reply, 0);
  let sent = 0;
  for (const event of events) {
    if (client.readyState !== client.OPEN) return;
    if (fault.kind === "close" && sent === 1) return closeSession(session, fault.code, "asked for by the model name");
    if (sent === EVENTS_BEFORE_CUT && fault.kind === "error-mid-stream") return sendFailure(session, reply, sent);
    if (sent === EVENTS_BEFORE_CUT && fault.kind.startsWith("drop-")) {
      session.isClosedByServer = true;
      client.terminate();
      return;
    }
    if (fault.kind === "slow-stream" && sent > 0 && !(await pauseSocket(socket, fault.ms))) return;
    await sendText(session, event);
    sent += 1;
  }
  countTokens(tally, model, tokens);
}

async function sendFailure(session: ClientSession, { failure }: EventReply, sent: number): Promise<void> {
  for (const event of failure(sent)) await sendText(session, event);
}

function eventOf(text: string): JsonObject {
  try {
    const event = objectOf(parseJson(text));
    if (event !== undefined) return event;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new Refused(400, "An event must be a JSON object.");
}
