/**
 * Loaded into a foreign program that is measured (`--require`): whatever it would listen on, it listens on the loopback. A
 * proxy that asks nobody for a credential is then nobody's but the bench's.
 */

import { Server } from "node:net";

/** Stands where the method stood, so it takes what that takes; the programs measured here give a port first. */
type Listen = (this: Server, ...given: readonly unknown[]) => Server;

const listen = Server.prototype.listen as Listen;
const listenOnLoopback: Listen = function (port, ...rest) {
  const callbacks = rest.filter((value) => typeof value === "function");
  return listen.call(this, { port: Number(port), host: "127.0.0.1" }, ...callbacks);
};
Object.assign(Server.prototype, { listen: listenOnLoopback });
