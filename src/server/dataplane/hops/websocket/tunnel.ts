/**
 * A WebSocket session tunnelled to its upstream (Realtime, Responses over WebSocket and the like).
 *
 * The upstream's handshake comes first and the client's 101 after it, so that an upstream that refuses is heard by the
 * client in the upstream's own words. From the 101 on, `relay.ts` joins the two; what it keeps and how it maps
 * closes stands there. Compression is declined on both sides, so that messages can be metered as they pass.
 *
 * Source: RFC 6455; specification 1, "WebSocket sessions"; reference, dialects, section 4.1; decisions, section 2.
 * Bytes are payload of messages; times are milliseconds.
 */
import { setMaxListeners } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { GatewayError } from "../../../../base/index.ts";
import {
  type Dialled,
  type DialledServer,
  dial,
  type Hides,
  headerLines,
  ignore,
  offeredProtocols,
  refuseUpgrade,
  speaksVersion13,
  type UpstreamAddress,
  watchClient,
  withOwnHeaders,
} from "./handshake.ts";
import { type RelayOutcome, relay } from "./relay.ts";
import type { TunnelAccount, TunnelClosing, TunnelInspector, TunnelObserver } from "./types.ts";

export {
  offeredProtocols,
  prepareUpgradeHeaders,
  protocolCredential,
  refuseUpgrade,
  type UpstreamAddress,
  withoutProtocolCredential,
} from "./handshake.ts";
export type { TunnelClosing, TunnelObserver } from "./types.ts";

export interface TunnelLimits {
  /** From dialling to the upstream's 101, or to the end of its refusal. */
  readonly handshakeMs: number;
  /** One message, its fragments together; a longer one closes both sides with 1009. */
  readonly maxMessageBytes: number;
  /** Bytes queued for one side, beyond which the other is not read. One message more may come to it. */
  readonly highWaterBytes: number;
  /** Without any frame from either side, pings and pongs included. */
  readonly idleMs: number;
  /** How long a side may be left unread because the other does not take what is queued for it. */
  readonly stallMs: number;
  /** For the answer to a close, then the connection is destroyed. */
  readonly closeMs: number;
}

export const TUNNEL_LIMITS: TunnelLimits = {
  handshakeMs: 15_000,
  // Audio and images come base64-encoded in one JSON message; providers bound one at 15 to 50 MB.
  maxMessageBytes: 64 * 1024 * 1024,
  // A second of anything a model says; more only delays the sender's notice that its reader is slow.
  highWaterBytes: 1024 * 1024,
  // Providers end a session after 30 to 60 minutes by themselves; a silent one is then long forgotten.
  idleMs: 3_600_000,
  // The longest message on a line of 1 Mbit/s takes nine minutes, during which no progress can be seen.
  stallMs: 600_000,
  closeMs: 5_000,
};

export interface HandshakeObserver {
  /** The upstream is dialled; not told of a request that is refused before. */
  begun(): void;
  /** The upstream's own status: 101 for a session. */
  answered(status: number): void;
}

export interface TunnelSession {
  /** As the `upgrade` event of a node:http server gives the three. */
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly upstream: UpstreamAddress;
  /** Raw pairs for the answer, be it the 101 or the upstream's refusal; they replace the upstream's of that name. */
  readonly responseHeaders: readonly string[];
  /** Tells the upstream's headers, by lower-case name and value, that the client is not shown. */
  readonly hides?: Hides | undefined;
  /** What the client is refused with in the place of the upstream's refusal; undefined: it reads that. */
  readonly inPlaceOf?: (status: number) => GatewayError | undefined;
  readonly limits?: Partial<TunnelLimits>;
  readonly observe?: TunnelObserver;
  readonly inspect?: TunnelInspector;
  readonly account?: TunnelAccount;
  readonly handshake?: HandshakeObserver;
  /** A redirect of the upstream is its answer like any other refusal; otherwise it is refused. */
  readonly passesRedirects?: boolean;
  /**
   * Ends the session: both sides are closed with 1001, or as the `TunnelClosing` says that is the abort's reason (a
   * budget that breaks: `closeTunnel(1008, "budget exhausted")`).
   */
  readonly signal: AbortSignal;
}

export type TunnelResult =
  /** No session came to be; the client has its answer. */
  | { readonly kind: "refused"; readonly status: number }
  | {
      readonly kind: "closed";
      /** As seen first: 1005 for a close without a code, 1006 for a lost connection (also before the 101). */
      readonly code: number;
      readonly by: "client" | "upstream" | "gateway";
      readonly bytesFromClient: number;
      readonly bytesFromUpstream: number;
      /** From the client's 101 to the last of both connections. */
      readonly durationMs: number;
    };

const NO_SESSION: TunnelResult = {
  kind: "closed",
  code: 1006,
  by: "client",
  bytesFromClient: 0,
  bytesFromUpstream: 0,
  durationMs: 0,
};

/** RFC 6455 section 5.5: a control frame carries 125 bytes, two of which are the code. */
const CLOSE_REASON_MAX_BYTES = 123;

/** The reason of an abort of a session's signal. Throws on a code that may not be sent, or too long a reason. */
export function closeTunnel(code: number, reason: string): TunnelClosing {
  const isStandard = code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code);
  const isSendable = Number.isInteger(code) && (isStandard || (code >= 3000 && code <= 4999));
  if (!isSendable || Buffer.byteLength(reason) > CLOSE_REASON_MAX_BYTES) {
    throw new RangeError(`A WebSocket cannot be closed with code ${code} and a reason of ${reason.length} characters.`);
  }
  return { kind: "tunnel_closing", code, reason };
}

/**
 * Resolves when the session is over and both connections are closed. What goes wrong before the client has an answer
 * rejects with a `GatewayError`, and the socket is still there to be answered on: `invalid_request` (no WebSocket
 * handshake), `upstream_unreachable`, `upstream_timeout`, `upstream_invalid`, `upstream_redirect`, `overloaded` (the
 * signal was aborted). A client that leaves meanwhile cuts the upstream's handshake off.
 */
export async function tunnel(session: TunnelSession): Promise<TunnelResult> {
  const { request, socket } = session;
  // node:http takes its own listener off with the upgrade; without one, a reset would end the process.
  socket.on("error", ignore);
  // One signal may serve many sessions, and Node warns of a leak from the eleventh listener on.
  setMaxListeners(0, session.signal);
  const limits = { ...TUNNEL_LIMITS, ...session.limits };
  if (!speaksVersion13(request)) {
    refuseUpgrade(socket, 426, [...session.responseHeaders, "sec-websocket-version", "13"], "");
    return { kind: "refused", status: 426 };
  }
  const offered = offeredProtocols(request);
  session.handshake?.begun();
  const { dialled, head, ended } = await dialWatched(session, limits);
  switch (dialled.kind) {
    case "abandoned":
      socket.destroy();
      return NO_SESSION;
    case "refused": {
      session.handshake?.answered(dialled.status);
      const own = session.inPlaceOf?.(dialled.status);
      if (own !== undefined) throw own;
      const headers = withOwnHeaders(session.responseHeaders, dialled.headers, session.hides);
      refuseUpgrade(socket, dialled.status, headers, dialled.body);
      return { kind: "refused", status: dialled.status };
    }
    case "open":
      session.handshake?.answered(101);
      return join(session, limits, head, dialled, offered).finally(ended);
    default:
      return dialled satisfies never;
  }
}

/** `head` is what the client has sent before its 101, which is handed on to its WebSocket. */
async function dialWatched(
  session: TunnelSession,
  limits: TunnelLimits,
): Promise<DialledServer & { readonly head: Buffer }> {
  const left = new AbortController();
  if (hasLeft(session.socket)) left.abort();
  const watch = watchClient(session.socket, session.head, () => left.abort());
  try {
    const { passesRedirects = false } = session;
    const ends = { left: left.signal, shutdown: session.signal };
    const dialled = await dial(session.upstream, { ...limits, ...ends, passesRedirects });
    return { ...dialled, head: watch.stop() };
  } catch (error) {
    watch.stop();
    throw error;
  }
}

async function join(
  session: TunnelSession,
  limits: TunnelLimits,
  head: Buffer,
  dialled: Extract<Dialled, { kind: "open" }>,
  offered: readonly string[],
): Promise<TunnelResult> {
  const startedAt = performance.now();
  let client: WebSocket | undefined;
  try {
    client = accept(session, limits, head, dialled, offered);
  } finally {
    if (client === undefined) dialled.websocket.terminate();
  }
  if (client === undefined) return NO_SESSION;
  const outcome: RelayOutcome = await relay({
    client: { websocket: client, transport: session.socket },
    upstream: dialled,
    limits,
    observe: session.observe,
    inspect: session.inspect,
    account: session.account,
    signal: session.signal,
  });
  return { kind: "closed", ...outcome, durationMs: performance.now() - startedAt };
}

/** The client's side, paused; undefined when the client left in the last moment. */
function accept(
  session: TunnelSession,
  limits: TunnelLimits,
  head: Buffer,
  dialled: Extract<Dialled, { kind: "open" }>,
  offered: readonly string[],
): WebSocket | undefined {
  const settings = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: limits.maxMessageBytes,
    closeTimeout: limits.closeMs,
    handleProtocols: () => answeredProtocol(offered, dialled.protocol),
  };
  const door = new WebSocketServer(settings);
  const headers = headerLines(withOwnHeaders(session.responseHeaders, dialled.headers, session.hides)).filter((it) =>
    ASCII.test(it),
  );
  door.on("headers", (lines) => lines.push(...headers));
  const accepted: WebSocket[] = [];
  door.handleUpgrade(session.request, session.socket, head, (websocket) => accepted.push(websocket));
  return accepted[0];
}

/** `ws` writes the 101 as UTF-8, in which a header's other bytes would change: such a line is left out. */
const ASCII = /^[\t\x20-\x7e]*$/;

/**
 * What the upstream selected. Where it selected none, `realtime` if the client offered it: a browser that offers
 * subprotocols fails unless one is selected, and it must offer them, since its credential is in that list.
 */
function answeredProtocol(offered: readonly string[], selected: string | undefined): string | false {
  if (selected !== undefined && offered.includes(selected)) return selected;
  return offered.includes("realtime") ? "realtime" : false;
}

function hasLeft(socket: Duplex): boolean {
  return socket.destroyed || socket.readableEnded || !socket.writable;
}
