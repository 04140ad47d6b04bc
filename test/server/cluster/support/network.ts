/** A network without peers that records requests and answers as a test says. */

import type { Network, NetworkReply, NetworkRequest } from "../../../../src/server/cluster/network.ts";
import type { SnapshotRecord } from "../../../../src/server/cluster/storage/index.ts";

export interface SilentNetwork extends Network {
  readonly peers: ReadonlyMap<string, string>;
  readonly requests: { readonly address: string; readonly requests: NetworkRequest }[];
  readonly sentSnapshots: { readonly record: SnapshotRecord; readonly path: string }[];
  answer: (address: string) => NetworkReply;
  /** Result of `sendSnapshot`. */
  transfer: () => Promise<void>;
}

export function silentNetwork(): SilentNetwork {
  let peers: ReadonlyMap<string, string> = new Map();
  const network: SilentNetwork = {
    get peers() {
      return peers;
    },
    requests: [],
    sentSnapshots: [],
    answer: () => ({ kind: "unreachable", reason: "the port is closed", isSilent: true }),
    transfer: () => Promise.resolve(),
    send: () => undefined,
    sendSnapshot(_, record, path) {
      network.sentSnapshots.push({ record, path });
      return network.transfer();
    },
    setPeers(next) {
      peers = next;
    },
    sendRemoved: () => undefined,
    connected: () => new Set(),
    async request(address, requests) {
      network.requests.push({ address, requests });
      return network.answer(address);
    },
    close: () => Promise.resolve(),
  };
  return network;
}
