/**
 * Answers written by `AnswerWriter`, compared with those of a Node response with the same input: equal except for
 * segmentation.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { AnswerWriter, KEEP_ALIVE_MS } from "../../../src/server/dataplane/answer-writer.ts";

interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly pairs: readonly string[];
  readonly chunks: readonly string[];
}

const DATE = ["Date", "Sun, 06 Nov 1994 08:49:37 GMT"];
const ofLength = (text: string): string[] => ["content-length", String(Buffer.byteLength(text, "latin1"))];
const ANSWER = {
  status: 200,
  statusText: "",
  pairs: [...DATE, ...ofLength("hello"), "X-Odd", "caf\xe9"],
  chunks: ["hello"],
};
const EVENTS = ["data: 1\n\n", "data: 22\n\n", `data: ${"3".repeat(300)}\n\n`];

const ANSWERS: readonly (readonly [name: string, answer: Answer, request?: string])[] = [
  ["a whole answer", ANSWER],
  ["a custom reason phrase", { ...ANSWER, statusText: "Fine" }],
  ["a status without a reason phrase", { ...ANSWER, status: 299 }],
  ["an error", { ...ANSWER, status: 503 }],
  ["bytes beyond ASCII", { ...ANSWER, pairs: [...DATE, ...ofLength("\xff\0\xc3")], chunks: ["\xff\0\xc3"] }],
  ["two headers with the same name", { ...ANSWER, pairs: [...ANSWER.pairs, "set-cookie", "a=1", "set-cookie", "b=2"] }],
  ["an empty value", { ...ANSWER, pairs: [...ANSWER.pairs, "x-empty", ""] }],
  ["a body in two pieces", { ...ANSWER, chunks: ["hel", "lo"] }],
  ["a body that ends early", { ...ANSWER, chunks: ["hel"] }],
  ["an empty body", { ...ANSWER, pairs: [...DATE, ...ofLength("")], chunks: [] }],
  [
    "a body too long to be copied",
    { ...ANSWER, pairs: [...DATE, ...ofLength("x".repeat(20_000))], chunks: ["x".repeat(20_000)] },
  ],
  ["an answer without a date", { ...ANSWER, pairs: ofLength("hello") }],
  ["a header about the connection", { ...ANSWER, pairs: [...ANSWER.pairs, "Connection", "close"] }],
  ["an answer to HEAD", { ...ANSWER, chunks: [] }, "HEAD / HTTP/1.1\r\nhost: x\r\n\r\n"],
  ["an answer to HTTP/1.0", ANSWER, "POST / HTTP/1.0\r\n\r\n"],
  ["an answer to HTTP/1.0 that is kept", ANSWER, "POST / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n"],
  ["a connection that is not kept", ANSWER, "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"],
  ["no content", { ...ANSWER, status: 204, pairs: DATE, chunks: [] }],
  ["not modified", { ...ANSWER, status: 304, chunks: [] }],
  ["a stream", { ...ANSWER, pairs: DATE, chunks: EVENTS }],
  ["a stream with an empty chunk", { ...ANSWER, pairs: DATE, chunks: ["a", "", "b"] }],
  ["a stream with a large chunk", { ...ANSWER, pairs: DATE, chunks: ["a", "y".repeat(20_000), "b"] }],
  ["a stream to HTTP/1.0", { ...ANSWER, pairs: DATE, chunks: EVENTS }, "POST / HTTP/1.0\r\n\r\n"],
  ["a stream without a chunk", { ...ANSWER, pairs: DATE, chunks: [] }],
];

const REQUEST = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
const NEXT = "GET /next HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

let answered: (response: ServerResponse) => void = () => undefined;
const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
  if (request.url === "/next") response.sendDate = false;
  if (request.url === "/next") response.end("next");
  else answered(response);
});

before(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
});

after(() => {
  server.close();
});

async function open(): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  await once(socket, "connect");
  return socket;
}

/** Returns everything received on a connection until its end. */
async function allOf(socket: Socket): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of socket) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString("latin1");
}

/** Sends two requests on one connection; returns all answers. */
async function exchange(
  request: string,
  isAtOnce: boolean,
  write: (response: ServerResponse) => void,
): Promise<string> {
  const finished = new Promise<void>((resolve) => {
    answered = (response) => {
      response.on("close", resolve);
      write(response);
    };
  });
  const socket = await open();
  const all = allOf(socket);
  socket.write(isAtOnce ? request + NEXT : request);
  await finished;
  if (!isAtOnce && socket.writable) socket.end(NEXT);
  return all;
}

const byNode =
  ({ status, statusText, pairs, chunks }: Answer) =>
  (response: ServerResponse): void => {
    response.writeHead(status, statusText, [...pairs]);
    for (const chunk of chunks) response.write(Buffer.from(chunk, "latin1"));
    response.end();
  };

const byWriter =
  ({ status, statusText, pairs, chunks }: Answer) =>
  (response: ServerResponse): void => {
    const writer = new AnswerWriter(response);
    let left = Number(pairs[pairs.indexOf("content-length") + 1] ?? Number.NaN);
    if (!pairs.includes("content-length")) left = Number.NaN;
    writer.writeHead(status, statusText, [...pairs], left);
    assert.ok(writer.hasBegun);
    for (const chunk of chunks) {
      const bytes = Buffer.from(chunk, "latin1");
      writer.write(bytes, bytes.length === left);
      left -= bytes.length;
    }
    writer.end();
  };

for (const [name, answer, request = REQUEST] of ANSWERS) {
  for (const isAtOnce of [false, true]) {
    test(`${name}${isAtOnce ? ", with the next request pipelined" : ""}: the bytes equal Node's`, async () => {
      const expected = await exchange(request, isAtOnce, byNode(answer));
      assert.match(expected, /^HTTP\/1\.1 /);
      assert.equal(await exchange(request, isAtOnce, byWriter(answer)), expected);
    });
  }
}

test("head and body of a whole answer are sent in one system call", async () => {
  const writes: number[] = [];
  const counting = (write: (response: ServerResponse) => void) => (response: ServerResponse) => {
    const socket = response.socket as Socket;
    const handle = Reflect.get(socket, "_handle") as Record<string, (...args: unknown[]) => unknown>;
    let count = 0;
    for (const name of ["writeBuffer", "writev", "writeLatin1String", "writeUtf8String"]) {
      const call = handle[name] as (...args: unknown[]) => unknown;
      handle[name] = (...args) => {
        count += 1;
        return call.apply(handle, args);
      };
    }
    response.on("close", () => writes.push(count));
    write(response);
  };
  await exchange(REQUEST, false, counting(byWriter(ANSWER)));
  assert.deepEqual(writes, [1]);
});

for (const [name, value] of [
  ["a line end", "a\r\nb: c"],
  ["a control character", "a\0"],
  ["a character of two bytes", "\u20ac"],
] as const) {
  test(`a value with ${name} is refused as Node refuses it, and none of it is sent`, async () => {
    const broken = { ...ANSWER, pairs: [...ANSWER.pairs, "x-bad", value] };
    const text = await exchange(REQUEST, false, (response) => {
      assert.throws(() => byWriter(broken)(response), { code: "ERR_INVALID_CHAR" });
      response.destroy();
    });
    assert.equal(text, "");
  });
}

test("a head without a body is sent by a flush", async () => {
  const socket = await open();
  answered = (response) => {
    const writer = new AnswerWriter(response);
    writer.writeHead(200, "", [...ANSWER.pairs], 5);
    writer.flush();
    socket.once("data", () => writer.write(Buffer.from("hello"), true));
  };
  socket.write(REQUEST);
  const [head] = (await once(socket, "data")) as [Buffer];
  assert.match(head.toString(), /^HTTP\/1\.1 200 \r\n.*\r\n\r\n$/s);
  const [body] = (await once(socket, "data")) as [Buffer];
  assert.equal(body.toString(), "hello");
  socket.destroy();
});

test("writing waits for a client that does not read, and continues once it does", async () => {
  const socket = await open();
  socket.pause();
  let rooms = 0;
  const sent = new Promise<number>((resolve) => {
    answered = (response) => {
      const writer = new AnswerWriter(response);
      let bytes = 0;
      const chunk = Buffer.alloc(8 << 10, "x");
      const more = (): void => {
        while (bytes < 32 << 20) {
          bytes += chunk.length;
          if (!writer.write(chunk, false)) return;
        }
        writer.end();
        resolve(bytes);
      };
      writer.onDrain(() => {
        rooms += 1;
        more();
      });
      writer.writeHead(200, "", [...DATE], Number.NaN);
      more();
      socket.resume();
    };
  });
  let read = 0;
  let end = "";
  socket.on("data", (piece: Buffer) => {
    read += piece.length;
    end = (end + piece.toString("latin1")).slice(-7);
  });
  socket.write(REQUEST);
  const bytes = await sent;
  while (!end.endsWith("\r\n0\r\n\r\n")) await once(socket, "data");
  assert.ok(rooms > 0 && read > bytes, `${rooms} times, ${read} bytes`);
  socket.destroy();
});
