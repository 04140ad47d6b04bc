/** A TLS connection on which a test writes raw bytes. */

import { once } from "node:events";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { parseAddress } from "../../../../src/base/index.ts";
import type { Identity } from "../../../../src/server/cluster/identity/index.ts";
import {
  createFrameDecoder,
  encodeFrame,
  encodeJson,
  type Frame,
  KIND,
  type SelfDescription,
} from "../../../../src/server/cluster/wire/index.ts";

export interface RawPeer {
  readonly socket: TLSSocket;
  readonly frames: readonly Frame[];
  send(bytes: Uint8Array): void;
  nextFrame(): Promise<Frame>;
  readonly closed: Promise<void>;
}

export async function rawPeer(address: string, identity: Identity, over: ConnectionOptions = {}): Promise<RawPeer> {
  const { host, port } = parseAddress(address) ?? {};
  const [face] = identity.dialCredentials();
  const socket = connect({ ...face?.options, host, port, ...over } as ConnectionOptions);
  const frames: Frame[] = [];
  const decoder = createFrameDecoder();
  let taken = 0;
  let wake = () => {};
  socket.on("error", () => undefined);
  socket.on("data", (chunk: Buffer) => {
    frames.push(...decoder.push(chunk));
    wake();
  });
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => {
      wake();
      resolve();
    });
  });
  await once(socket, "secureConnect");
  return {
    socket,
    frames,
    closed,
    send: (bytes) => socket.write(bytes),
    async nextFrame() {
      while (frames.length <= taken) {
        if (socket.destroyed) throw new Error("the connection was closed");
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      taken += 1;
      return frames[taken - 1] as Frame;
    },
  };
}

export function helloFrame(
  self: SelfDescription,
  purpose: string,
  over: Readonly<Record<string, unknown>> = {},
): Buffer {
  const { clusterId: cluster, nodeId: node, storageId: storage, epoch, proto, feat } = self;
  return encodeFrame(
    { kind: KIND.hello },
    encodeJson({ v: 1, cluster, epoch, node, storage, proto, feat, purpose, ...over }),
  );
}
