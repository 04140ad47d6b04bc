/** Connections of the load generators: raw sockets to a loopback port, with TLS or without, or to a Unix socket. */

import { connect, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";

export interface Target {
  /** 0 with a `socketPath`. */
  readonly port: number;
  readonly socketPath?: string;
  /** PEM of the root to trust for TLS with a server named `localhost`. Plain HTTP if omitted. */
  readonly root?: string;
}

/** It is in `sockets` from the start, so that it is closed with them however the job ends. */
export function openSocket({ port, socketPath, root }: Target, sockets: Set<Socket>): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket =
      socketPath === undefined ? connect({ port, host: "127.0.0.1", noDelay: true }) : connect({ path: socketPath });
    sockets.add(socket);
    socket.once("error", reject);
    if (root === undefined) {
      socket.once("connect", () => resolve(socket));
      return;
    }
    const secure = connectSecurely({ socket, ca: root, servername: "localhost" });
    sockets.delete(socket);
    sockets.add(secure);
    secure.once("secureConnect", () => resolve(secure));
    secure.once("error", reject);
  });
}

export const isGood = (status: number): boolean => status >= 200 && status < 300;
