/** Two channels joined by a socket of the system. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Channel, openChannel } from "../../../../src/server/workers/index.ts";

export interface Pair extends AsyncDisposable {
  readonly worker: Channel;
  readonly node: Channel;
  /** Ends of the socket, for raw data. */
  readonly sockets: { readonly worker: Socket; readonly node: Socket };
  /** Errors that either side reported as broken. */
  readonly broken: readonly Error[];
}

export async function openPair(): Promise<Pair> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-pair-"));
  const server = createServer();
  server.listen(join(folder, "s"));
  await once(server, "listening");
  const accepted = once(server, "connection");
  const ofWorker = connect(join(folder, "s"));
  const [ofNode] = (await accepted) as [Socket];
  await rm(folder, { recursive: true });
  const broken: Error[] = [];
  const worker = openChannel(ofWorker, (error) => broken.push(error));
  const node = openChannel(ofNode, (error) => broken.push(error));
  return {
    worker,
    node,
    sockets: { worker: ofWorker, node: ofNode },
    broken,
    async [Symbol.asyncDispose]() {
      await Promise.all([worker.close(), node.close()]);
      server.close();
    },
  };
}
