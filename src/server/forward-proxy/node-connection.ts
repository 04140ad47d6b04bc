/** Opens connections through a forward proxy for clients that accept a `createConnection` (`node:http`, `ws`). */
import { Agent, type RequestOptions } from "node:https";
import { isIP, isIPv6, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { authority, type OnConnected, openTunnel, type Target } from "./connect-to-proxy.ts";
import { faultBehindProxy } from "./fault.ts";
import { type ForwardProxies, type ForwardProxy, hostOf, portOf } from "./proxy-rules.ts";

interface ProxyConnectionOptions {
  readonly proxy: ForwardProxy;
  readonly target: Target;
  /** TLS options; `undefined` for a plain connection through the tunnel. */
  readonly tls: Omit<ConnectionOptions, "socket" | "host" | "port"> | undefined;
  /** Maximum time to open the tunnel, and for the handshake behind it, in milliseconds each. */
  readonly limitMs: number;
  /** Signal that cancels the attempt. */
  readonly signal?: AbortSignal;
}

/** Opens a connection to the target. Calls `done` once, asynchronously. */
export function createProxyConnection(options: ProxyConnectionOptions, done: OnConnected): void {
  const { proxy, target, tls, limitMs, signal } = options;
  let isSettled = false;
  const settle = (error: Error | null, socket: Socket | null): void => {
    if (isSettled) {
      socket?.destroy();
      return;
    }
    isSettled = true;
    signal?.removeEventListener("abort", onAbort);
    done(error, socket);
  };
  const cancel = openTunnel(proxy, target, limitMs, (error, socket) => {
    if (socket === null || tls === undefined) return settle(error, socket);
    const name = isIP(target.host) === 0 ? { servername: target.host } : {};
    const secure = connectTls({ ALPNProtocols: ["http/1.1"], ...name, ...tls, host: target.host, socket });
    const fail = (cause: Error): void => {
      clearTimeout(timer);
      secure.off("error", fail).on("error", ignore).destroy();
      socket.destroy();
      settle(faultBehindProxy(proxy, authority(target), cause), null);
    };
    const timer = setTimeout(() => fail(new Error("no TLS handshake in time")), limitMs);
    secure.once("error", fail).once("secureConnect", () => {
      clearTimeout(timer);
      secure.off("error", fail);
      settle(null, secure);
    });
    signal?.addEventListener("abort", () => fail(signal.reason as Error), { once: true });
  });
  function onAbort(): void {
    cancel();
    settle(signal?.reason as Error, null);
  }
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
}

/** Opens an agent of `node:https` for libraries that make their own requests. */
export function openHttpsProxyAgent(proxies: ForwardProxies, limitMs: number): Agent {
  return new (class extends Agent {
    override createConnection(
      options: RequestOptions,
      done?: (error: Error | null, socket: Duplex) => void,
    ): Duplex | null | undefined {
      const { host, port } = options;
      const url = new URL(`https://${isIPv6(host ?? "") ? `[${host}]` : host}:${port ?? 443}`);
      const proxy = proxies.proxyFor(url);
      if (proxy === undefined) return super.createConnection(options, done);
      const target = { host: hostOf(url), port: portOf(url) };
      createProxyConnection({ proxy, target, tls: {}, limitMs }, (error, socket) => done?.(error, socket as Duplex));
      return undefined;
    }
  })({ keepAlive: false });
}

function ignore(): void {}
