/** Pinned programs of others that tests use, from a cache or newly installed into it. */

export { type Peer, peer } from "./peer.ts";
export { PEERS, type PeerName } from "./table.ts";
