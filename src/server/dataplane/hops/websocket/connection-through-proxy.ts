/** The connection of a WebSocket to an upstream behind a forward proxy: a tunnel, for `ws:` too. */
import type { Duplex } from "node:stream";
import { createProxyConnection, type ForwardProxy, hostOf, portOf } from "../../../forward-proxy/index.ts";
import type { DialOptions, UpstreamAddress } from "./handshake.ts";

/** Returns the `createConnection` that `ws` hands to `node:http`. */
export function connectionThrough(
  proxy: ForwardProxy,
  upstream: Pick<UpstreamAddress, "url" | "connect">,
  { handshakeMs, left }: Pick<DialOptions, "handshakeMs" | "left">,
) {
  const url = new URL(upstream.url);
  const tls = url.protocol === "wss:" ? (upstream.connect ?? {}) : undefined;
  const target = { host: hostOf(url), port: portOf(url) };
  return (_: unknown, done: (error: Error | null, socket: Duplex) => void): undefined => {
    createProxyConnection({ proxy, target, tls, limitMs: handshakeMs, signal: left }, (error, socket) =>
      done(error, socket as Duplex),
    );
  };
}
