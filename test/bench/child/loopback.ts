/**
 * Loaded into a foreign program that is measured (`--require`): it listens on the loopback instead of any other
 * address, so that a proxy without authentication is reachable only by the bench.
 */

import { Server } from "node:net";

/** Replaces the method with the same arguments; the programs measured here pass a port first. */
type Listen = (this: Server, ...items: readonly unknown[]) => Server;

const listen = Server.prototype.listen as Listen;
const listenOnLoopback: Listen = function (port, ...rest) {
  const callbacks = rest.filter((value) => typeof value === "function");
  return listen.call(this, { port: Number(port), host: "127.0.0.1" }, ...callbacks);
};
Object.assign(Server.prototype, { listen: listenOnLoopback });
