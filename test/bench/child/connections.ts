/** Connections of the load generators: raw sockets, of a port of the loopback or of a Unix socket. */

import { connect, type Socket } from "node:net";

export interface Target {
  /** 0 where there is a `socketPath`. */
  readonly port: number;
  readonly socketPath?: string;
}

/** It is among `sockets` from the start, so that it is closed with them however the job ends. */
export function openSocket({ port, socketPath }: Target, sockets: Set<Socket>): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket =
      socketPath === undefined ? connect({ port, host: "127.0.0.1", noDelay: true }) : connect({ path: socketPath });
    sockets.add(socket);
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
  });
}

export const isGood = (status: number): boolean => status >= 200 && status < 300;
