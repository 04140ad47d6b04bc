/**
 * Creates the admin socket again after its file was removed, as cleaners of `/run` and `/tmp` do: the process still listens then,
 * but nobody can connect, and the node could only be operated again after a restart.
 */

import { lstat } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import type { Log } from "../../../base/index.ts";
import { type PlacedSocket, placeSocket } from "./socket-path.ts";

interface KeptSocketOptions {
  readonly path: string;
  readonly maxConnections: number;
  readonly log: Pick<Log, "warn">;
  /** Serves a connection to a socket that was created again. */
  readonly accept: (socket: Socket) => void;
  readonly onAcceptFailure: (error: Error) => void;
}

/** Interval of the checks whether the file is there, in milliseconds. */
const CHECK_MS = 1_000;

/** Watches a socket that was placed. `close` ends that, and removes the socket. */
export function keepSocket(first: PlacedSocket, options: KeptSocketOptions): { close(): Promise<void> } {
  const { path, log } = options;
  let placed = first;
  let server: Server | undefined;
  let hasFailed = false;

  const createAgain = async (): Promise<void> => {
    const next = createServer({ allowHalfOpen: true }, options.accept);
    next.maxConnections = options.maxConnections;
    try {
      placed = await placeSocket(path, (bound) => listen(next, bound, options.maxConnections));
    } catch (error) {
      next.close();
      if (!hasFailed) log.warn("the admin socket was removed, and cannot be created again yet", { path, error });
      hasFailed = true;
      return;
    }
    next.on("error", options.onAcceptFailure);
    server?.close();
    server = next;
    hasFailed = false;
    log.warn("the admin socket was removed by another process, and was created again", { path });
  };

  const check = async (): Promise<void> => {
    const isMissing = await lstat(path).then(
      () => false,
      ({ code }: NodeJS.ErrnoException) => code === "ENOENT",
    );
    if (isMissing) await createAgain();
  };

  let checking: Promise<void> | undefined;
  const timer = setInterval(() => {
    checking ??= check().finally(() => {
      checking = undefined;
    });
  }, CHECK_MS);
  timer.unref();

  return {
    async close() {
      clearInterval(timer);
      await checking;
      await placed.remove();
      server?.close();
    },
  };
}

function listen(server: Server, path: string, backlog: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path, backlog }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
