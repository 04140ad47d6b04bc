/** Programs of others that tests talk to, pinned: found in a cache, or installed into it. */

export { type Peer, peer } from "./peer.ts";
export { PEERS, type PeerName } from "./table.ts";
