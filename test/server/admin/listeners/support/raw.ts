/** Raw bytes to a listener and the answer, beyond what an HTTP client can send. */

import { once } from "node:events";
import { connect, type NetConnectOpts, type Socket } from "node:net";

export async function dial(where: NetConnectOpts): Promise<Socket> {
  const socket = connect(where);
  await once(socket, "connect");
  return socket;
}

/** Returns everything answered until the connection closes; a reset counts as a close. */
export async function exchange(where: NetConnectOpts, bytes: string): Promise<string> {
  const socket = await dial(where);
  socket.write(bytes);
  return untilClosed(socket);
}

export async function untilClosed(socket: Socket): Promise<string> {
  let received = "";
  socket.setEncoding("latin1").on("data", (part) => {
    received += part;
  });
  await new Promise<void>((resolve) => {
    socket.on("error", () => undefined);
    if (socket.destroyed) resolve();
    else socket.once("close", () => resolve());
  });
  return received;
}

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Sends one request on its own connection with exactly the given `headers`, in that order. */
export async function ask(
  port: number,
  target: string,
  headers: readonly (readonly [name: string, value: string])[],
  { method = "GET", version = "1.1", host = "127.0.0.1" } = {},
): Promise<Answered> {
  const lines = [...headers, ["connection", "close"]].map(([name, value]) => `${name}: ${value}\r\n`);
  const answer = await exchange({ port, host }, `${method} ${target} HTTP/${version}\r\n${lines.join("")}\r\n`);
  const [head = "", ...rest] = answer.split("\r\n\r\n");
  const [status = "", ...fields] = head.split("\r\n");
  return {
    status: Number(status.split(" ")[1]),
    headers: new Headers(fields.map((field): [string, string] => splitAt(field, ": "))),
    body: rest.join("\r\n\r\n"),
  };
}

function splitAt(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return [text.slice(0, at), text.slice(at + separator.length)];
}

export const codeOf = ({ body }: Answered): string => {
  const parsed = JSON.parse(body) as { readonly error?: { readonly code: string } };
  return parsed.error?.code ?? "none";
};
