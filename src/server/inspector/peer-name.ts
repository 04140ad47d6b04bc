/**
 * Determines the name of a peer in records: its address. The port is left out, because it changes with each connection. Names
 * that a peer gives itself are not trusted.
 */
import { isIP } from "node:net";

/** Returns the name. `called`: `address:port`, as gRPC reports it. */
export function peerName(called: string): string {
  const host = called.replace(/:\d+$/, "");
  const address = isIP(host) === 0 && isIP(called) !== 0 ? called : host;
  return isIP(address) === 0 ? "unknown" : address.replace(/^::ffff:(?=\d+\.)/i, "");
}
