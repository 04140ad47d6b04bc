/** Programs of others that tests talk to, pinned: found in a cache, or installed into it. */

export { type Peer, peer } from "./peer.ts";
export type { PeerName } from "./table.ts";
