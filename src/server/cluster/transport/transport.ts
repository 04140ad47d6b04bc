/**
 * Network between replicas: a listener, a connection to each peer for messages, and one per snapshot transfer. Source: cluster
 * reference, section 4.1.
 */

import { anySignal } from "../../../base/index.ts";
import type { Message } from "../../core/raft/index.ts";
import {
  createRivals,
  decodeBatch,
  decodeMessage,
  type Frame,
  type InboundLink,
  isRecord,
  KIND,
  type LinkHandlers,
  listenLinks,
  readBytes,
  systemTiming,
  WireError,
} from "../wire/index.ts";
import { createOutbound, type Outbound } from "./outbound.ts";
import { createPulse } from "./pulse.ts";
import { createSnapshotReceiver } from "./snapshot-receive.ts";
import { sendSnapshotFile } from "./snapshot-send.ts";
import type { Transport, TransportOptions } from "./types.ts";

/** Opens the listener. Rejects if the address cannot be listened on; the system's error is the cause. */
export async function startTransport(options: TransportOptions): Promise<Transport> {
  const { listen, identity, self, refusalCodeFor, log, timing = systemTiming } = options;
  const { onMessage, onRemoved, onUnreachable } = options;
  const outbounds = new Map<string, Outbound>();
  const sendings = new Set<Promise<void>>();
  const stop = new AbortController();
  const receiver = createSnapshotReceiver({
    nodeId: self.nodeId,
    log,
    snapshotPath: (meta) => options.snapshotPath(meta),
    mayReceive: (size) => options.mayReceive(size),
    onSnapshotReceived: (message, record) => options.onSnapshotReceived(message, record),
  });

  const listener = await listenLinks({
    name: "raft",
    listen,
    identity,
    self,
    links: { raft: 1, snapshot: 1 },
    replaces: true,
    admitsCli: false,
    refusalCodeFor: (hello, peer) =>
      refusalCodeFor(hello, peer) ?? (hello.purpose === "raft" ? options.rollbackCodeFor(hello) : undefined),
    rivals: createRivals({ decidesRivalry: options.decidesRivalry, now: options.pulse.monotonic }),
    onRefused: (code, hello) => options.onRefusing(code, hello.nodeId),
    onLink: (link) => (link.hello.purpose === "raft" ? messageHandlers(link) : receiver.handlers(link)),
    log,
    timing,
  });

  function messageHandlers(link: InboundLink): LinkHandlers {
    const { peer } = link;
    const deliver = (message: Message): void => {
      if (message.from !== peer.id || message.to !== self.nodeId) throw new WireError("a message of another peer");
      if (message.type === "MsgSnap") throw new WireError("a snapshot among messages");
      onMessage(message);
    };
    return {
      onFrame({ kind, payload }: Frame) {
        if (stop.signal.aborted) return;
        if (kind === KIND.raft) deliver(decodeMessage(payload));
        else if (kind === KIND.raftBatch) decodeBatch(payload).forEach(deliver);
        else if (kind === KIND.removed) onRemoved(parseRemoved(payload), peer.id);
        else throw new WireError(`a frame of kind ${kind} among messages`);
      },
      onEnd: () => undefined,
      pulse: createPulse(link.hello, options.pulse),
    };
  }

  return {
    address: listener.address,
    send(message) {
      if (message.type === "MsgSnap") throw new TypeError("a MsgSnap is sent with its file");
      outbounds.get(String(message.to))?.send(message);
    },
    setPeers(peers) {
      if (stop.signal.aborted) return;
      for (const [id, outbound] of outbounds) {
        if (peers.get(id)?.raftAddr === outbound.raftAddr) continue;
        outbound.close();
        outbounds.delete(id);
      }
      for (const [id, { raftAddr }] of peers) {
        if (outbounds.has(id) || id === self.nodeId) continue;
        outbounds.set(
          id,
          createOutbound({
            id,
            raftAddr,
            identity,
            self,
            log,
            timing,
            onUnreachable: (peer) => onUnreachable(peer),
            onRefused: options.onRefused,
            pulse: createPulse({ nodeId: id, storageId: undefined }, options.pulse),
          }),
        );
      }
      // A peer that is no longer a member is disconnected; its next hello is refused with the reason.
      for (const link of [...listener.links()]) {
        if (refusalCodeFor(link.hello, link.peer) !== undefined) link.end();
      }
    },
    async sendSnapshot(to, message, record, path, signal) {
      const outbound = outbounds.get(to);
      if (outbound === undefined) throw new Error(`${to} is not a peer`);
      const sending = sendSnapshotFile({
        to,
        raftAddr: outbound.raftAddr,
        identity,
        self,
        timing,
        message,
        record,
        path,
        signal: anySignal([signal, stop.signal]),
      });
      const settled = sending.catch(() => undefined);
      sendings.add(settled);
      try {
        await sending;
      } finally {
        sendings.delete(settled);
      }
    },
    sendRemoved(to, index) {
      outbounds.get(to)?.sendRemoved(index);
    },
    connections: () => [...outbounds.values()].map((outbound) => outbound.connection()),
    stats: () => listener.stats(),
    async close() {
      stop.abort(new Error("the transport is closing"));
      for (const outbound of outbounds.values()) outbound.close();
      outbounds.clear();
      await Promise.all([listener.close(), ...sendings]);
      await receiver.close();
    },
  };
}

function parseRemoved(payload: Uint8Array): number {
  const value = readBytes(payload).json(payload.length);
  const index = isRecord(value) ? value["index"] : undefined;
  if (typeof index !== "number" || !Number.isSafeInteger(index) || index < 0) {
    throw new WireError("a notice of removal without its index");
  }
  return index;
}
