/**
 * The child's end of the channel to the bench: it reports its port, and ends when the bench is gone for any reason. A
 * piece started manually, without a channel, prints its port and runs until it is interrupted.
 */

import type { Server } from "node:http";
import type { Server as SecureServer } from "node:https";

export interface Listening {
  readonly kind: "listening";
  readonly port: number;
}

export function endWithParent(): void {
  if (process.connected) process.on("disconnect", () => process.exit(0));
}

/** Listens on a free loopback port and reports it. */
export function listenAndReport(server: Server | SecureServer): void {
  endWithParent();
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("listening without a port");
    const message: Listening = { kind: "listening", port: address.port };
    if (process.send === undefined) process.stdout.write(`${JSON.stringify(message)}\n`);
    else process.send(message);
  });
}
