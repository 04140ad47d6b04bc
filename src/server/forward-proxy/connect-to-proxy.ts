/**
 * Opens connections to a forward proxy, and tunnels through it. Source: RFC 9110, section 9.3.6 (CONNECT), section 11.7
 * (`proxy-authorization`). Times are in milliseconds.
 */
import { connect as connectTcp, isIP, isIPv6, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { connectionErrorText } from "../../base/index.ts";
import { ForwardProxyFault, refusedByProxy } from "./fault.ts";
import type { ForwardProxy } from "./proxy-rules.ts";

/** Maximum size of the proxy's answer to CONNECT. */
const MAX_ANSWER_BYTES = 16 << 10;

const NOTHING = Buffer.alloc(0);

export interface Target {
  /** Host name or address, without brackets. */
  readonly host: string;
  readonly port: number;
}

export type OnConnected = (error: Error | null, socket: Socket | null) => void;

/** Cancels the attempt; `done` is not called afterwards. */
type Cancel = () => void;

export const authority = ({ host, port }: Target): string => `${isIPv6(host) ? `[${host}]` : host}:${port}`;

/** Connects to the proxy itself, for plain requests in absolute form. Calls `done` once, asynchronously. */
export function connectToProxy(proxy: ForwardProxy, limitMs: number, done: OnConnected): Cancel {
  const { host, port, isTls } = proxy;
  const socket = isTls
    ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }), ALPNProtocols: ["http/1.1"] })
    : connectTcp({ host, port });
  socket.setNoDelay(true);
  const settle = (error: ForwardProxyFault | null): void => {
    clearTimeout(timer);
    socket
      .off("error", onError)
      .off("close", onClose)
      .off(isTls ? "secureConnect" : "connect", onConnect);
    if (error !== null) socket.on("error", ignore).destroy();
    done(error, error === null ? socket : null);
  };
  const unreachable = (reason: string, cause?: unknown): void =>
    settle(new ForwardProxyFault(proxy, `cannot be reached: ${reason}`, cause));
  const onError = (cause: Error): void => unreachable(connectionErrorText(cause) ?? cause.message, cause);
  const onClose = (): void => unreachable("the connection ended unexpectedly");
  const onConnect = (): void => settle(null);
  const timer = setTimeout(() => unreachable("no connection in time"), limitMs);
  socket
    .once("error", onError)
    .once("close", onClose)
    .once(isTls ? "secureConnect" : "connect", onConnect);
  return () => {
    clearTimeout(timer);
    socket.off("close", onClose).off("error", onError).on("error", ignore).destroy();
  };
}

/** Opens a tunnel to the target, within `limitMs` in total. Calls `done` once, asynchronously. */
export function openTunnel(proxy: ForwardProxy, target: Target, limitMs: number, done: OnConnected): Cancel {
  const endsAt = performance.now() + limitMs;
  let cancel = connectToProxy(proxy, limitMs, (error, socket) => {
    if (socket === null) done(error, null);
    else cancel = requestTunnel(proxy, target, socket, Math.max(1, endsAt - performance.now()), done);
  });
  return () => cancel();
}

function requestTunnel(
  proxy: ForwardProxy,
  target: Target,
  socket: Socket,
  limitMs: number,
  done: OnConnected,
): Cancel {
  const name = authority(target);
  let head: Buffer = NOTHING;
  const settle = (error: Error | null): void => {
    clearTimeout(timer);
    socket.off("readable", onReadable).off("error", onError).off("end", onEnd).off("close", onEnd);
    if (error !== null) socket.on("error", ignore).destroy();
    done(error, error === null ? socket : null);
  };
  const fail = (what: string, cause?: unknown): void => settle(new ForwardProxyFault(proxy, what, cause));
  const onError = (cause: Error): void =>
    fail(`broke off the tunnel to ${name}: ${connectionErrorText(cause) ?? cause.message}`, cause);
  const onEnd = (): void => fail(`closed the connection before the tunnel to ${name} was open`);
  // `readable` is used instead of `data`, because the next owner would not resume a socket that was paused explicitly.
  const onReadable = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    readAnswer();
  };
  const readAnswer = (): void => {
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) {
      if (head.length > MAX_ANSWER_BYTES || !looksLikeHttp(head)) fail("does not answer CONNECT with valid HTTP/1.1");
      return;
    }
    const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |\r|$)/.exec(head.toString("latin1", 0, end))?.[1]);
    head = head.subarray(end + 4);
    if (status >= 200 && status < 300) {
      if (head.length > 0) socket.unshift(head);
      settle(null);
    } else if (status >= 100 && status < 200) {
      // The status is informational; the final one follows.
      if (head.length > 0) readAnswer();
    } else if (status >= 300) settle(refusedByProxy(proxy, name, status));
    else fail("does not answer CONNECT with valid HTTP/1.1");
  };
  const timer = setTimeout(() => fail(`did not answer in time for ${name}`), limitMs);
  socket.on("readable", onReadable).once("error", onError).once("end", onEnd).once("close", onEnd);
  const credentials = proxy.authorization === undefined ? "" : `proxy-authorization: ${proxy.authorization}\r\n`;
  socket.write(`CONNECT ${name} HTTP/1.1\r\nhost: ${name}\r\n${credentials}\r\n`, "latin1");
  return () => {
    clearTimeout(timer);
    socket.removeAllListeners().on("error", ignore).destroy();
  };
}

const looksLikeHttp = (head: Buffer): boolean => {
  const begin = head.toString("latin1", 0, 5);
  return "HTTP/".startsWith(begin) || begin === "HTTP/";
};

function ignore(): void {}
