/** A process of its own with a channel to this one, as a worker has it: descriptor 3 is a pipe in both directions. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { type Channel, openChannel } from "../../../../src/server/workers/index.ts";

export interface Peer extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly channel: Channel;
  readonly broken: readonly Error[];
}

/** `program`: a TypeScript file that calls `channelOfPeer`. */
export function startPeer(program: URL): Peer {
  const child = spawn(process.execPath, ["--import", "tsx", program.pathname], {
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  const broken: Error[] = [];
  const channel = openChannel(child.stdio[3] as Socket, (error) => broken.push(error));
  return {
    child,
    channel,
    broken,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await channel.closed;
    },
  };
}
