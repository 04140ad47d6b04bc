/**
 * What a peer is called in records: the address it calls from. Its ports are as many as its connections, and names that it
 * gives itself are anybody's.
 */
import { isIP } from "node:net";

/** `called`: of gRPC, `address:port`. */
export function peerName(called: string): string {
  const bare = called.replace(/:\d+$/, "");
  const address = isIP(bare) === 0 && isIP(called) !== 0 ? called : bare;
  return isIP(address) === 0 ? "unknown" : address.replace(/^::ffff:(?=\d+\.)/i, "");
}
