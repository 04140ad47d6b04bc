/**
 * The admin API on the local socket. Source: specification document 1, Authentication. Its mode 0600 admits the user of this
 * process and root; the system is asked once per connection which of them calls: `unix:<uid>`.
 */

import type { Socket } from "node:net";
import type { AdminPlane } from "../admin-plane.ts";
import { localPrincipal } from "../principal.ts";
import { refusal } from "../refusal.ts";
import { registerRoutes } from "../routes.ts";
import type { Authenticator } from "./authenticator.ts";
import { createHttpServer } from "./http-server.ts";
import { keepSocket } from "./keep-socket.ts";
import { openPeerCredentials, type PeerCredentials, type SocketPeer } from "./peer-credentials.ts";
import { placeSocket } from "./socket-path.ts";

interface AdminSocketOptions {
  /** Absolute, or relative to the working directory. */
  readonly path: string;
  /** Shared by all listeners, and closed with the first of them. */
  readonly plane: AdminPlane;
  /** Identifies peers; by default through the system. */
  readonly peerCredentials?: PeerCredentials;
}

export interface AdminSocket {
  readonly path: string;
  /** Stops accepting, answers waiting reads, and lets running requests finish within `limitMs`; then removes the socket. */
  close(limitMs?: number): Promise<void>;
}

/** Maximum number of connections: consoles, with a blocking read per table, and scripts. */
const MAX_CONNECTIONS = 4_096;
const CLOSE_LIMIT_MS = 5_000;

/** Opens the socket. Rejects with a message for the operator if that fails, or if the system cannot identify callers. */
export async function openAdminSocket({ path, plane, peerCredentials }: AdminSocketOptions): Promise<AdminSocket> {
  const credentialsOf = peerCredentials ?? (await openPeerCredentials());
  const peers = new WeakMap<Socket, SocketPeer>();
  const authenticator: Authenticator = {
    name: "local",
    identify({ raw }) {
      const peer = peers.get(raw.socket);
      if (peer === undefined) throw refusal("unauthenticated", "The operating system did not identify the caller.");
      return localPrincipal(peer.uid);
    },
  };
  const { log } = plane.ports;
  const onAcceptFailure = (error: Error): void =>
    log.warn("the admin socket failed to accept a connection", { door: "local", error });
  const server = createHttpServer({
    maxConnections: MAX_CONNECTIONS,
    onAcceptFailure,
    onConnection: (socket) => void peers.set(socket, credentialsOf(socket)),
    onInternalError: plane.onInternalError,
    registerRoutes: (app) => registerRoutes(app, plane, authenticator),
  });

  try {
    const placed = await placeSocket(path, (bound) => server.listen({ path: bound }));
    const kept = keepSocket(placed, {
      path,
      maxConnections: MAX_CONNECTIONS,
      log,
      accept: server.accept,
      onAcceptFailure,
    });
    let closing: Promise<void> | undefined;
    return {
      path,
      close(limitMs = CLOSE_LIMIT_MS) {
        closing ??= (async () => {
          // The path is removed first, so that new clients are refused instead of waiting in a queue.
          await kept.close();
          plane.close();
          await server.close(limitMs);
        })();
        return closing;
      },
    };
  } catch (error) {
    await server.close(0);
    throw error;
  }
}
