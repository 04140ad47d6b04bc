/**
 * Listener for links between nodes: TLS, the peer's certificate, hello, admission. A peer outside the cluster can cost only a
 * bounded number of sockets, bytes and seconds. Source: cluster reference, sections 4.1, 4.2 and 5.
 */

import { once } from "node:events";
import type { Socket } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import { formatAddress, type Log, parseAddress } from "../../../base/index.ts";
import type { Identity, Peer } from "../identity/index.ts";
import { encodeFrame, encodeJson, type Frame, KIND } from "./frame.ts";
import {
  describeHelloOk,
  HELLO_MS,
  type Hello,
  type HelloRefusalCode,
  helloRefusalCode,
  type Purpose,
  parseHello,
  type SelfDescription,
} from "./hello.ts";
import { type Link, type LinkHandlers, openWire, type Wire } from "./link.ts";
import type { Rivals } from "./rivals.ts";
import { systemTiming, type Timing } from "./timing.ts";
import { WireError } from "./wire-error.ts";

export interface InboundLink extends Link {
  readonly hello: Hello;
}

export interface ListenOptions {
  /** Name in messages: `raft`, `forward`. */
  readonly name: string;
  /** `host:port` or `:port`. */
  readonly listen: string;
  readonly identity: Identity;
  readonly self: SelfDescription;
  /** Maximum links of one peer, by purpose; a purpose without a number is refused. */
  readonly links: Readonly<Partial<Record<Purpose, number>>>;
  /**
   * Whether, at the limit, a new link replaces the oldest, which the peer has most likely forgotten. Otherwise the new one is
   * refused.
   */
  readonly replaces: boolean;
  readonly admitsCli: boolean;
  /** Returns a refusal code according to the members and their storages, or `undefined`. */
  refusalCodeFor(hello: Hello, peer: Peer): string | undefined;
  /** Arbitration between processes with one node id; if omitted, a new process replaces the earlier one. */
  readonly rivals?: Rivals<InboundLink>;
  /** Called when a peer was refused with this code. */
  onRefused?(code: string, hello: Hello): void;
  /** Called when the link is up, before its first frame. */
  onLink(link: InboundLink): LinkHandlers;
  readonly log: Log;
  readonly timing?: Timing;
}

export interface ListenerStats {
  /** Current number of connections after hello. */
  readonly links: number;
  readonly accepted: number;
  /** Number of refusals, by code of `hello_refused`. */
  readonly refused: Readonly<Record<string, number>>;
  /** Connections without a certificate of this cluster, or without TLS. */
  readonly untrusted: number;
  /** Connections that sent no valid frame or hello, or nothing in time. */
  readonly malformed: number;
  /** Connections beyond the limit of those without a hello. */
  readonly overflowed: number;
}

export interface LinkListener {
  /** Bound address as `host:port`. */
  readonly address: string;
  links(): Iterable<InboundLink>;
  stats(): ListenerStats;
  /** Closes every connection; resolves when the port is free. */
  close(): Promise<void>;
}

/** Maximum number of connections without a hello. */
const MAX_UNGREETED = 256;
/** Maximum number of peers whose last refusal is remembered, so that it is logged once. */
const MAX_REMEMBERED = 1_000;

/** Opens the listener. Rejects with an error that names the address and has the system's error as its cause. */
export async function listenLinks(options: ListenOptions): Promise<LinkListener> {
  const { name, listen, identity, self, log, timing = systemTiming } = options;
  const links = new Set<InboundLink>();
  const ungreeted = new Map<string, { readonly socket: Socket; readonly stopTimer: () => void }>();
  const lastRefusals = new Map<string, string>();
  const counts = { accepted: 0, untrusted: 0, malformed: 0, overflowed: 0 };
  const refused = new Map<string, number>();

  const server = createServer(identity.serverOptions());
  const stopFollowing = identity.onRefresh(() => server.setSecureContext(identity.serverOptions()));
  // TCP connections are counted, so that a connection counts before its TLS handshake. TCP and TLS socket of a connection have
  // the same remote address.
  server.on("connection", (socket: Socket) => {
    if (ungreeted.size >= MAX_UNGREETED) {
      counts.overflowed += 1;
      socket.destroy();
      return;
    }
    const key = keyOf(socket);
    const stopTimer = timing.after(HELLO_MS, () => {
      counts.malformed += 1;
      socket.destroy();
    });
    ungreeted.set(key, { socket, stopTimer });
    socket.once("close", () => removeStranger(key));
    socket.on("error", () => undefined);
  });
  server.on("tlsClientError", (error: Error & { readonly code?: string }, socket) => {
    counts.untrusted += 1;
    logOnce(hostOf(socket), error.code ?? "closed", (reason) =>
      log.warn(`refused a connection to the ${name} listener`, { from: hostOf(socket), reason }),
    );
    socket.destroy();
  });
  server.on("secureConnection", (socket) => {
    const peer = identity.checkPeer(socket);
    if (peer.kind === "refused") {
      counts.untrusted += 1;
      logOnce(hostOf(socket), peer.reason, (reason) =>
        log.warn(`refused a connection to the ${name} listener`, { from: hostOf(socket), reason }),
      );
      socket.destroy();
      return;
    }
    awaitHello(socket, peer);
  });

  function removeStranger(key: string): void {
    ungreeted.get(key)?.stopTimer();
    ungreeted.delete(key);
  }

  function logOnce(who: string, reason: string, writeLog: (reason: string) => void): void {
    if (lastRefusals.get(who) === reason) return;
    if (lastRefusals.size >= MAX_REMEMBERED) lastRefusals.clear();
    lastRefusals.set(who, reason);
    writeLog(reason);
  }

  function awaitHello(socket: TLSSocket, peer: Peer): void {
    const key = keyOf(socket);
    openWire({
      socket,
      isDialer: false,
      timing,
      onFirstFrame: (frame, wire) => answerHello(frame, wire, peer, () => removeStranger(key)),
      onEarlyEnd: (error) => {
        if (error instanceof WireError) counts.malformed += 1;
      },
    });
  }

  function answerHello(frame: Frame, wire: Wire, peer: Peer, onGreeted: () => void): LinkHandlers | undefined {
    if (frame.kind !== KIND.hello) throw new WireError("the first frame is not a hello");
    const hello = parseHello(frame.payload);
    const code = refusalCodeFor(hello, peer);
    const who = `${peer.kind} ${peer.id} ${hello.purpose}`;
    if (code !== undefined) {
      refused.set(code, (refused.get(code) ?? 0) + 1);
      options.onRefused?.(code, hello);
      logOnce(who, code, (reason) =>
        log.warn(`refused a peer on the ${name} listener`, { peer: peer.id, purpose: hello.purpose, reason }),
      );
      wire.send(encodeFrame({ kind: KIND.helloRefused }, encodeJson({ code })));
      wire.end();
      return undefined;
    }
    lastRefusals.delete(who);
    onGreeted();
    counts.accepted += 1;
    const link: InboundLink = { ...wire, peer, hello };
    links.add(link);
    wire.send(encodeFrame({ kind: KIND.helloOk }, encodeJson(describeHelloOk(self, peer.clusterId))));
    const handlers = options.onLink(link);
    return {
      onFrame: handlers.onFrame,
      ...(handlers.pulse !== undefined && { pulse: handlers.pulse }),
      onEnd(error) {
        links.delete(link);
        if (error instanceof WireError) {
          counts.malformed += 1;
          log.warn(`closed a link on the ${name} listener`, { peer: peer.id, purpose: hello.purpose, error });
        }
        handlers.onEnd(error);
      },
    };
  }

  function refusalCodeFor(hello: Hello, peer: Peer): string | undefined {
    const code: HelloRefusalCode | undefined = helloRefusalCode(hello, peer, self, identity.clusterIds);
    if (code !== undefined) return code;
    const allowed = options.links[hello.purpose];
    if (allowed === undefined || (peer.kind === "cli" && !options.admitsCli)) return "wrong_purpose";
    const same = [...links].filter((link) => link.hello.purpose === hello.purpose && isSame(link.peer, peer));
    const rivalry = same[0] === undefined ? undefined : options.rivals?.refusalCodeFor(same[0], hello);
    if (rivalry !== undefined) return rivalry;
    const judged = options.refusalCodeFor(hello, peer);
    if (judged !== undefined) return judged;
    if (hello.to !== undefined && hello.to !== self.nodeId) return "wrong_node";
    if (same.length < allowed) return undefined;
    if (!options.replaces) return "busy";
    same[0]?.close(new Error("the peer opened another link"));
    return undefined;
  }

  await startListening(server, name, listen);
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error(`the ${name} listener has no address`);

  return {
    address: formatAddress({ host: bound.address, port: bound.port }),
    links: () => links,
    stats: () => ({ ...counts, links: links.size, refused: Object.fromEntries(refused) }),
    async close() {
      stopFollowing();
      const closed = server.listening ? once(server, "close") : undefined;
      server.close();
      for (const { socket } of ungreeted.values()) socket.destroy();
      for (const link of [...links]) link.close();
      await closed;
    },
  };
}

async function startListening(server: ReturnType<typeof createServer>, name: string, listen: string): Promise<void> {
  const address = parseAddress(listen);
  if (address === undefined) throw new Error(`the ${name} address ${JSON.stringify(listen)} is not an address`);
  try {
    const listening = once(server, "listening");
    server.listen({ port: address.port, ...(address.host === undefined ? {} : { host: address.host }) });
    await listening;
  } catch (cause) {
    throw new Error(`cannot listen on the ${name} address ${listen}`, { cause });
  }
  // Accepting fails, for example, with too many open files. The listener stays, and the peer dials again.
  server.on("error", () => undefined);
}

/** Returns whether both are the same peer. All command lines count as one peer, since each has a random id. */
function isSame(a: Peer, b: Peer): boolean {
  return a.kind === b.kind && (a.kind === "cli" || a.id === b.id);
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function hostOf({ remoteAddress }: Socket): string {
  return remoteAddress ?? "unknown";
}
