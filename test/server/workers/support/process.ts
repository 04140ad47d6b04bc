/** A process of its own with a channel to this one, like a worker's: descriptor 3 is a pipe in both directions. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { type Channel, openChannel } from "../../../../src/server/workers/index.ts";

interface Peer extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly channel: Channel;
  readonly broken: readonly Error[];
}

/** `program` has the arguments for Node that run a file which opens the channel on descriptor 3, as returned by `childArgs`. */
export function startPeer(program: readonly string[]): Peer {
  const child = spawn(process.execPath, program, {
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
