/**
 * WebSocket sessions: a flat cost reserved from the start, usage charged as it is reported, and an end on both sides
 * when the budget is exceeded. Source: specification document 3 (`cost_per_session`); cluster reference, 7.2 rule 4.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { after, test } from "node:test";
import { WebSocket, WebSocketServer } from "ws";
import { listenLocally } from "../../support/ports.ts";
import { atEnd, eventually, type Owner, within } from "../../support/wait.ts";
import { mintKeys } from "./support/load.ts";
import { LONG_WINDOW, startBudgeted } from "./support/members.ts";
import { rowOn } from "./support/rows.ts";

const PER_SESSION = 7;
const LIMIT = 100;
/** Less than a session needs. */
const LEFT = PER_SESSION - 2;

interface Ended {
  readonly code: number;
  readonly reason: string;
}

/** A session provider that uses, for each received message, as many tokens as the message says. */
async function recorder(owner: Owner) {
  const ends: Ended[] = [];
  const server = createServer();
  const webSockets = new WebSocketServer({ server });
  let answers = 0;
  webSockets.on("connection", (socket) => {
    socket.on("message", (bytes) => {
      answers += 1;
      socket.send(doneWith(`resp_${answers}`, Number(bytes)));
    });
    socket.on("close", (code, reason) => ends.push({ code, reason: String(reason) }));
  });
  const port = await listenLocally(server);
  atEnd(owner, () => {
    for (const client of webSockets.clients) client.terminate();
    server.close();
  });
  return { url: `http://127.0.0.1:${port}`, ends };
}

function doneWith(id: string, tokens: number): string {
  const usage = { total_tokens: tokens, input_tokens: 1, output_tokens: tokens - 1 };
  return JSON.stringify({ type: "response.done", response: { id, status: "completed", output: [], usage } });
}

const file = { after };
const recording = await recorder(file);
const budgets = ["spent", "broken", "empty", "two"];
const gateways = await startBudgeted(file, {
  budgets: budgets.map((name) => ({ name, limit: LIMIT, window: LONG_WINDOW, shared: true })),
  provider: { preset: undefined, dialect: "compat", base_url: `${recording.url}/v1`, cost_per_session: PER_SESSION },
});
const member = gateways.member(0);
const keys = await mintKeys(gateways, Object.fromEntries(budgets.map((name) => [name, name])));

function dial(budget: string): WebSocket {
  const key = keys.find(({ name }) => name === budget) ?? assert.fail();
  const url = `${member.gateway.url.replace("http", "ws")}/v1/realtime?model=sim-realtime`;
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${key.text}` } });
  socket.on("error", () => undefined);
  after(() => socket.terminate());
  return socket;
}

async function open(budget: string) {
  const socket = dial(budget);
  let answers = 0;
  socket.on("message", () => {
    answers += 1;
  });
  const closed = once(socket, "close").then(([code, reason]) => ({ code: code as number, reason: String(reason) }));
  await within("the session", once(socket, "open"));
  return {
    socket,
    closed,
    /** Uses this many tokens. */
    use: async (tokens: number): Promise<void> => {
      const wanted = answers + 1;
      socket.send(String(tokens));
      await eventually(`the answer of ${tokens} tokens`, () => answers >= wanted);
    },
  };
}

async function state(budget: string): Promise<readonly [used: number, reserved: number]> {
  const row = await rowOn(member, budget);
  return [row?.used ?? 0, row?.reserved ?? 0];
}

const becomes = (budget: string, used: number, reserved: number) =>
  eventually(`${used} used and ${reserved} reserved of ${budget}`, async () => {
    const [isUsed, isReserved] = await state(budget);
    return isUsed === used && isReserved === reserved;
  });

test("a session reserves its flat cost, spends what its answers use, and is charged both", async () => {
  const session = await open("spent");
  assert.deepEqual(await state("spent"), [0, PER_SESSION]);
  await session.use(20);
  await becomes("spent", PER_SESSION + 20, 0);
  await session.use(30);
  await becomes("spent", PER_SESSION + 50, 0);
  session.socket.close(1_000);
  await session.closed;
  const other = await open("spent");
  other.socket.close(1_000);
  await other.closed;
  await becomes("spent", 2 * PER_SESSION + 50, 0);
});

test("a budget exceeded during a session closes both of its sides with 1008", async () => {
  const session = await open("broken");
  await session.use(50);
  session.socket.send("60");
  assert.deepEqual(await within("the close", session.closed), { code: 1_008, reason: "budget exhausted" });
  await eventually("the provider's side closed with 1008", () => recording.ends.some(({ code }) => code === 1_008));
  await becomes("broken", PER_SESSION + 110, 0);
});

test("a session that exceeds a shared budget does not end another that uses nothing more", async () => {
  const [one, other] = [await open("two"), await open("two")];
  one.socket.send("200");
  assert.equal((await within("the close", one.closed)).code, 1_008);
  assert.equal(other.socket.readyState, WebSocket.OPEN);
  other.socket.send("1");
  assert.equal((await within("its close, with the next answer", other.closed)).code, 1_008);
});

test("a handshake without room in the budget is refused like a request", async () => {
  const session = await open("empty");
  await session.use(LIMIT - PER_SESSION - LEFT);
  await becomes("empty", LIMIT - LEFT, 0);
  const [, answer] = (await within("the refusal", once(dial("empty"), "unexpected-response"))) as [
    unknown,
    IncomingMessage,
  ];
  assert.deepEqual([answer.statusCode, answer.headers["x-should-retry"]], [429, "false"]);
  assert.ok(Number(answer.headers["retry-after"]) > 0);
  assert.equal(session.socket.readyState, WebSocket.OPEN);
});
