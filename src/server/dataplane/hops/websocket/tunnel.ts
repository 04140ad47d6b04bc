/**
 * Tunnels a WebSocket session to its upstream (Realtime, Responses over WebSocket and similar ones).
 *
 * The upstream's handshake comes first and the client's 101 after it, so that a client receives the upstream's own refusal. After
 * the 101, `relay.ts` joins both sides; it describes buffering and the mapping of closes. Compression is declined on both sides,
 * so that messages can be metered as they pass.
 *
 * Source: RFC 6455; specification document 1, "WebSocket sessions"; dialects reference, section 4.1; design decisions, section 2.
 * Bytes are payload of messages; times are milliseconds.
 */
import { setMaxListeners } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { GatewayError } from "../../../../base/index.ts";
import {
  type DialOutcome,
  type DialResult,
  dial,
  headerLines,
  type IsHeaderHidden,
  ignore,
  isVersion13,
  offeredProtocols,
  refuseUpgrade,
  type UpstreamAddress,
  watchClient,
  withOwnHeaders,
} from "./handshake.ts";
import { type RelayOutcome, relay } from "./relay.ts";
import type { TunnelAccount, TunnelClosing, TunnelInspector, TunnelObserver } from "./tunnel-types.ts";

export {
  offeredProtocols,
  prepareUpgradeHeaders,
  protocolCredential,
  refuseUpgrade,
  type UpstreamAddress,
  withoutProtocolCredential,
} from "./handshake.ts";
export type { TunnelClosing, TunnelObserver } from "./tunnel-types.ts";

interface TunnelLimits {
  /** Timeout from dialing to the upstream's 101, or to the end of its refusal. */
  readonly handshakeMs: number;
  /** Maximum size of a message including all its fragments; a longer one closes both sides with 1009. */
  readonly maxMessageBytes: number;
  /** Number of bytes queued for one side above which the other is not read. One more message may be added. */
  readonly highWaterBytes: number;
  /** Maximum time without any frame from either side, including pings and pongs. */
  readonly idleMs: number;
  /** Maximum time for which a side is not read because the other does not take its queued data. */
  readonly stallMs: number;
  /** Time to wait for the answer to a close before the connection is destroyed. */
  readonly closeMs: number;
}

const TUNNEL_LIMITS: TunnelLimits = {
  handshakeMs: 15_000,
  // Audio and images are base64-encoded in one JSON message; providers limit it to 15 to 50 MB.
  maxMessageBytes: 64 * 1024 * 1024,
  // One second of any model's output. A longer queue would only delay the time at which the sender notices that its reader is
  // slow.
  highWaterBytes: 1024 * 1024,
  // Providers end sessions after 30 to 60 minutes, so a session that is silent for longer is abandoned.
  idleMs: 3_600_000,
  // The longest message takes nine minutes at 1 Mbit/s, during which no progress is visible.
  stallMs: 600_000,
  closeMs: 5_000,
};

interface HandshakeObserver {
  /** Called when the upstream is dialed; not called for a request that is refused before. */
  onDialed(): void;
  /** Receives the upstream's own status: 101 for a session. */
  onAnswered(status: number): void;
}

export interface TunnelSession {
  /** Request, socket and head from the `upgrade` event of a node:http server. */
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly upstream: UpstreamAddress;
  /** Header pairs for the 101 or the refusal. They replace the upstream's headers of the same names. */
  readonly responseHeaders: readonly string[];
  /** Returns whether a header of the upstream is hidden from the client. */
  readonly isHidden?: IsHeaderHidden | undefined;
  /** Returns the refusal that replaces the upstream's, or `undefined` if the client receives the upstream's. */
  readonly refusalInsteadOf?: (status: number) => GatewayError | undefined;
  readonly limits?: Partial<TunnelLimits>;
  readonly observe?: TunnelObserver;
  readonly inspect?: TunnelInspector;
  readonly account?: TunnelAccount;
  readonly handshake?: HandshakeObserver;
  /** Whether a redirect of the upstream is passed on like any other refusal; otherwise it becomes an error. */
  readonly passesRedirects?: boolean;
  /**
   * Ends the session: both sides are closed with 1001, or with the `TunnelClosing` that is the abort's reason (for example
   * `closeTunnel(1008, "budget exhausted")` for a broken budget).
   */
  readonly signal: AbortSignal;
}

export type TunnelResult =
  /** No session was opened, and the client has its answer. */
  | { readonly kind: "refused"; readonly status: number }
  | {
      readonly kind: "closed";
      /** Close code that was seen first: 1005 for a close without a code, 1006 for a lost connection (also before the 101). */
      readonly code: number;
      readonly by: "client" | "upstream" | "gateway";
      readonly bytesFromClient: number;
      readonly bytesFromUpstream: number;
      /** Time from the client's 101 until both connections are closed. */
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

/** Maximum size of a close reason: a control frame carries 125 bytes, two of which are the code (RFC 6455, section 5.5). */
const CLOSE_REASON_MAX_BYTES = 123;

/** Returns the abort reason that closes a session with `code`. Throws if the code may not be sent or the reason is too long. */
export function closeTunnel(code: number, reason: string): TunnelClosing {
  const isStandard = code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code);
  const isSendable = Number.isInteger(code) && (isStandard || (code >= 3000 && code <= 4999));
  if (!isSendable || Buffer.byteLength(reason) > CLOSE_REASON_MAX_BYTES) {
    throw new RangeError(`A WebSocket cannot be closed with code ${code} and a reason of ${reason.length} characters.`);
  }
  return { kind: "tunnel_closing", code, reason };
}

/**
 * Tunnels a session. Resolves when it has ended and both connections are closed. A failure before the client has an answer
 * rejects with a `GatewayError`, and the socket can still be answered: `invalid_request` (no WebSocket handshake),
 * `upstream_unreachable`, `upstream_timeout`, `upstream_invalid`, `upstream_redirect`, `overloaded` (the signal was aborted). If
 * the client leaves meanwhile, the upstream's handshake is cut off.
 */
export async function tunnel(session: TunnelSession): Promise<TunnelResult> {
  const { request, socket } = session;
  // node:http removes its own listener at the upgrade. Without a listener a reset would end the process.
  socket.on("error", ignore);
  // One signal may serve many sessions, and Node warns of a leak from the eleventh listener on.
  setMaxListeners(0, session.signal);
  const limits = { ...TUNNEL_LIMITS, ...session.limits };
  if (!isVersion13(request)) {
    refuseUpgrade(socket, 426, [...session.responseHeaders, "sec-websocket-version", "13"], "");
    return { kind: "refused", status: 426 };
  }
  const offered = offeredProtocols(request);
  session.handshake?.onDialed();
  const { outcome, head, onSessionEnd } = await dialWhileWatching(session, limits);
  switch (outcome.kind) {
    case "abandoned":
      socket.destroy();
      return NO_SESSION;
    case "refused": {
      session.handshake?.onAnswered(outcome.status);
      const own = session.refusalInsteadOf?.(outcome.status);
      if (own !== undefined) throw own;
      const headers = withOwnHeaders(session.responseHeaders, outcome.headers, session.isHidden);
      refuseUpgrade(socket, outcome.status, headers, outcome.body);
      return { kind: "refused", status: outcome.status };
    }
    case "open":
      session.handshake?.onAnswered(101);
      return relaySession(session, limits, head, outcome, offered).finally(onSessionEnd);
    default:
      return outcome satisfies never;
  }
}

/**
 * Dials the upstream while watching the client. `head`: data that the client sent before its 101, to be passed to its
 * WebSocket.
 */
async function dialWhileWatching(
  session: TunnelSession,
  limits: TunnelLimits,
): Promise<DialResult & { readonly head: Buffer }> {
  const left = new AbortController();
  if (hasLeft(session.socket)) left.abort();
  const watch = watchClient(session.socket, session.head, () => left.abort());
  try {
    const { passesRedirects = false } = session;
    const ends = { clientLeft: left.signal, shutdown: session.signal };
    const dialed = await dial(session.upstream, { ...limits, ...ends, passesRedirects });
    return { ...dialed, head: watch.stop() };
  } catch (error) {
    watch.stop();
    throw error;
  }
}

async function relaySession(
  session: TunnelSession,
  limits: TunnelLimits,
  head: Buffer,
  upstream: Extract<DialOutcome, { kind: "open" }>,
  offered: readonly string[],
): Promise<TunnelResult> {
  const startedAt = performance.now();
  let client: WebSocket | undefined;
  try {
    client = acceptClient(session, limits, head, upstream, offered);
  } finally {
    if (client === undefined) upstream.websocket.terminate();
  }
  if (client === undefined) return NO_SESSION;
  const outcome: RelayOutcome = await relay({
    client: { websocket: client, transport: session.socket },
    upstream,
    limits,
    observe: session.observe,
    inspect: session.inspect,
    account: session.account,
    signal: session.signal,
  });
  return { kind: "closed", ...outcome, durationMs: performance.now() - startedAt };
}

/** Accepts the client's WebSocket, paused. Returns `undefined` if the client has just left. */
function acceptClient(
  session: TunnelSession,
  limits: TunnelLimits,
  head: Buffer,
  upstream: Extract<DialOutcome, { kind: "open" }>,
  offered: readonly string[],
): WebSocket | undefined {
  const settings = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: limits.maxMessageBytes,
    closeTimeout: limits.closeMs,
    handleProtocols: () => answeredProtocol(offered, upstream.protocol),
  };
  const server = new WebSocketServer(settings);
  const headers = headerLines(withOwnHeaders(session.responseHeaders, upstream.headers, session.isHidden)).filter(
    (it) => ASCII.test(it),
  );
  server.on("headers", (lines) => lines.push(...headers));
  const accepted: WebSocket[] = [];
  server.handleUpgrade(session.request, session.socket, head, (websocket) => accepted.push(websocket));
  return accepted[0];
}

/** Matches values that can be sent in a 101, which `ws` writes as UTF-8; other header lines are left out. */
const ASCII = /^[\t\x20-\x7e]*$/;

/**
 * Returns the subprotocol that the upstream selected, otherwise `realtime` if the client offered it. Browsers must offer
 * subprotocols, because their credential is one of them, and they fail unless one is selected.
 */
function answeredProtocol(offered: readonly string[], selected: string | undefined): string | false {
  if (selected !== undefined && offered.includes(selected)) return selected;
  return offered.includes("realtime") ? "realtime" : false;
}

function hasLeft(socket: Duplex): boolean {
  return socket.destroyed || socket.readableEnded || !socket.writable;
}
