/** A TCP relay in front of an address whose bytes a test cuts, counts and changes. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { parseAddress } from "../../../../src/base/index.ts";
import { atEnd, type Owner } from "../../../e2e/support/wait.ts";

interface Relay {
  readonly address: string;
  /** Breaks the connection after this many bytes to the far side; `undefined` for never. */
  cutAfter(bytes: number | undefined): void;
  /** Bytes sent to the far side, on all connections. */
  forwarded(): number;
  connections(): number;
  /** Sets the target of new connections. */
  leadTo(address: string): void;
  cut(): void;
  /** Stops reading from connected clients. */
  stall(isStalled: boolean): void;
}

export async function relayTo(owner: Owner, target: string): Promise<Relay> {
  let address = target;
  let limit: number | undefined;
  let forwarded = 0;
  let connections = 0;
  const sockets = new Set<Socket>();
  const nears = new Set<Socket>();
  const keep = (socket: Socket, other: () => Socket): void => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => {
      sockets.delete(socket);
      other().destroy();
    });
  };
  const server = createServer((near) => {
    connections += 1;
    const { host = "", port } = parseAddress(address) ?? { port: 0 };
    const far: Socket = connect(port, host);
    keep(near, () => far);
    keep(far, () => near);
    nears.add(near.once("close", () => nears.delete(near)));
    near.on("data", (chunk) => {
      forwarded += chunk.length;
      if (limit !== undefined && forwarded > limit) {
        near.destroy();
        return;
      }
      far.write(chunk);
    });
    far.on("data", (chunk) => near.write(chunk));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  atEnd(owner, () => {
    server.close();
    cut();
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutAfter(bytes) {
      limit = bytes === undefined ? undefined : forwarded + bytes;
    },
    forwarded: () => forwarded,
    connections: () => connections,
    leadTo(next) {
      address = next;
    },
    cut,
    stall(isStalled) {
      for (const near of nears) near[isStalled ? "pause" : "resume"]();
    },
  };
}
