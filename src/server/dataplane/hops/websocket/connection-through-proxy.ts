/** Connects a WebSocket to an upstream behind a forward proxy, through a tunnel even for `ws:`. */
import type { Duplex } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import { createProxyConnection, type ForwardProxy, hostOf, portOf } from "../../../forward-proxy/index.ts";

/** Returns the `createConnection` that `ws` hands to `node:http`. */
export function connectionThrough(
  proxy: ForwardProxy,
  upstream: { readonly url: string; readonly connect?: ConnectionOptions },
  { handshakeMs, clientLeft }: { readonly handshakeMs: number; readonly clientLeft: AbortSignal },
) {
  const url = new URL(upstream.url);
  const tls = url.protocol === "wss:" ? (upstream.connect ?? {}) : undefined;
  const target = { host: hostOf(url), port: portOf(url) };
  return (_: unknown, done: (error: Error | null, socket: Duplex) => void): undefined => {
    createProxyConnection({ proxy, target, tls, limitMs: handshakeMs, signal: clientLeft }, (error, socket) =>
      done(error, socket as Duplex),
    );
  };
}
