/**
 * Connector for undici that goes through a forward proxy where one applies. TLS goes through a tunnel; plain HTTP goes to the
 * proxy in absolute form (RFC 9112, section 3.2.2), since many proxies tunnel only to TLS ports.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { Agent, buildConnector, DecoratorHandler, type Dispatcher } from "undici";
import { authority, connectToProxy, openTunnel } from "./connect-to-proxy.ts";
import { faultBehindProxy, refusedByProxy } from "./fault.ts";
import { isPrivateAddress, resolvesToPrivate } from "./private-addresses.ts";
import { type ForwardProxies, type ForwardProxy, hostOf, portOf } from "./proxy-rules.ts";

interface ConnectorOptions {
  readonly proxies: ForwardProxies;
  /** Options of the connection to the destination: roots, lookup, `allowH2`, `timeout` in milliseconds. */
  readonly connect: buildConnector.BuildOptions;
  /** True for an MCP server or agent: addresses of private networks are reached directly. */
  readonly bypassesProxyForPrivate?: boolean;
  /** True if plain HTTP is tunneled too, for clients that cannot write a request in absolute form. */
  readonly tunnelsPlain?: boolean;
}

/** Proxy of a connection whose requests are written in absolute form. */
const forwarding = new WeakMap<Socket, ForwardProxy>();

/** Returns the proxy of a connection, or `undefined` if requests over it are written as for the origin itself. */
export const proxyOf = (socket: Socket): ForwardProxy | undefined => forwarding.get(socket);

export function proxyConnector(options: ConnectorOptions): buildConnector.connector {
  const { proxies, connect, bypassesProxyForPrivate = false, tunnelsPlain = false } = options;
  const direct = buildConnector(connect);
  const limitMs = connect.timeout ?? 10_000;
  const through = (proxy: ForwardProxy, to: buildConnector.Options, url: URL, done: buildConnector.Callback): void => {
    const target = { host: hostOf(url), port: portOf(url) };
    if (url.protocol === "http:" && !tunnelsPlain) {
      connectToProxy(proxy, limitMs, (error, socket) => {
        if (socket === null) return done(error ?? new Error("no connection"), null);
        forwarding.set(socket, proxy);
        done(null, socket);
      });
      return;
    }
    openTunnel(proxy, target, limitMs, (error, socket) => {
      if (socket === null) return done(error ?? new Error("no connection"), null);
      if (url.protocol === "http:") return done(null, socket);
      direct({ ...to, httpSocket: socket }, (...[failed, secure]: Parameters<buildConnector.Callback>) => {
        if (failed === null) return done(null, secure as Socket);
        socket.destroy();
        done(faultBehindProxy(proxy, authority(target), failed), null);
      });
    });
  };
  return (to, done) => {
    const url = new URL(`${to.protocol}//${to.host ?? to.hostname}`);
    const proxy = proxies.proxyFor(url);
    if (proxy === undefined) return direct(to, done);
    const isPrivate = bypassesProxyForPrivate ? isPrivateAddress(hostOf(url)) : false;
    if (isPrivate === true) return direct(to, done);
    if (isPrivate === false) return through(proxy, to, url, done);
    resolvesToPrivate(hostOf(url), (isNear) => (isNear ? direct(to, done) : through(proxy, to, url, done)));
  };
}

const PROXY_WANTS_CREDENTIALS = 407;

type Handler = Dispatcher.DispatchHandler;
/** Class with the methods that the type declarations of undici leave out. */
const Decorator = DecoratorHandler as unknown as new (handler: Handler) => Decorated;

interface Decorated {
  onResponseStart(...args: Parameters<NonNullable<Handler["onResponseStart"]>>): void;
}

/** Converts an answer that only a proxy gives to an error that names the proxy. */
class RefusalHandler extends Decorator {
  readonly #fault: Error;

  constructor(handler: Handler, fault: Error) {
    super(handler);
    this.#fault = fault;
  }

  override onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    if (status === PROXY_WANTS_CREDENTIALS) controller.abort(this.#fault);
    else super.onResponseStart(controller, status, headers, statusMessage);
  }
}

/** Opens an undici agent whose requests go through the forward proxies. */
export function openProxyAgent(
  {
    connect,
    ...options
  }: Omit<Agent.Options, "connect" | "factory"> & { readonly connect: buildConnector.BuildOptions },
  proxies: ForwardProxies,
): Dispatcher {
  const agent = new Agent({ ...options, connect: proxyConnector({ proxies, connect }) });
  return agent.compose((dispatch) => (asked, handler) => {
    const origin = new URL(String(asked.origin));
    const proxy = origin.protocol === "http:" ? proxies.proxyFor(origin) : undefined;
    if (proxy === undefined) return dispatch(asked, handler);
    const judged = new RefusalHandler(handler, refusedByProxy(proxy, origin.origin, PROXY_WANTS_CREDENTIALS));
    return dispatch(inAbsoluteForm(asked, origin.origin, proxy), judged);
  });
}

/** Returns the request in the form that a proxy accepts. */
export function inAbsoluteForm<Asked extends { readonly path: string; readonly headers?: unknown }>(
  asked: Asked,
  origin: string,
  { authorization }: ForwardProxy,
): Asked & { readonly headers: string[] } {
  const { headers } = asked;
  const added = authorization === undefined ? [] : ["proxy-authorization", authorization];
  const flatHeaders = Array.isArray(headers) ? headers : Object.entries(headers ?? {}).flat();
  return { ...asked, path: origin + asked.path, headers: [...flatHeaders, ...added] as string[] };
}
