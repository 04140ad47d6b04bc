/**
 * Serves TLS on the data listener. The first byte of a connection decides: 0x16 begins a handshake; anything else is read as
 * plain HTTP, which only gets answers to the challenges of an ACME authority. A new certificate does not close open connections.
 * Source: design decisions, section 15; front-door reference, sections 4 and 6.
 */
import { constants } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { createServer, type TLSSocket, type TlsOptions } from "node:tls";
import { type Clock, GatewayError, type Instruments, type Log } from "../../base/index.ts";
import { createHandshakes } from "./handshakes.ts";
import { type HandshakeCounters, observeHandshakes } from "./metrics.ts";
import type { TicketKeys } from "./ticket-keys.ts";
import type { Certificate, Certificates, MaybePromise } from "./types.ts";

/** Content type `handshake` (RFC 8446 section 5.1). No HTTP method begins with this byte. */
const HANDSHAKE_BYTE = 0x16;
const FIRST_BYTE_LIMIT_MS = 10_000;
const HANDSHAKE_LIMIT_MS = 10_000;
/** Path of HTTP-01 challenges (RFC 8555 section 8.3). */
const CHALLENGE_PATH = "/.well-known/acme-challenge/";
const TOKEN = /^[A-Za-z0-9_-]{1,256}$/;
/** Lifetime of a session ticket in seconds, at most to the end of the UTC day. */
const SESSION_SECONDS = 3_600;
const TICKET_KEYS_CHECK_MS = 60_000;
const RETRY_AFTER_SECONDS = 10;

/**
 * Session context, which must be equal on two nodes for either to resume the other's sessions; Node's default is a hash of the
 * arguments.
 */
const SESSION_CONTEXT = "gateway";

/** Forward secrecy and authenticated encryption only: Mozilla's intermediate profile. The ciphers of TLS 1.3 are the defaults. */
const TLS12_CIPHERS = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");

const PROTOCOL = {
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.3",
  ciphers: TLS12_CIPHERS,
  honorCipherOrder: true,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  sessionIdContext: SESSION_CONTEXT,
  sessionTimeout: SESSION_SECONDS,
} as const satisfies TlsOptions;

interface TlsServerOptions {
  readonly certificates: Certificates;
  /** Presented until there is a certificate; `undefined` if there is one from the start. */
  readonly placeholder: Pick<Certificate, "chain" | "key"> | undefined;
  readonly ticketKeys: TicketKeys;
  readonly clock: Pick<Clock, "now">;
  readonly instruments: Instruments;
  readonly log: Log;
}

/** Answer that the TLS server gives instead of the data plane. */
type TlsServerAnswer =
  | { readonly kind: "refused"; readonly refusal: GatewayError }
  /** Answer to an ACME challenge; `undefined` if it is unknown. */
  | { readonly kind: "challenge"; readonly keyAuthorization: MaybePromise<string | undefined> };

export interface TlsServer {
  /** Accepts a connection. `onHttp` receives it once HTTP comes next. */
  accept(raw: Socket, onHttp: (socket: Socket) => void): void;
  /** Decides about a request; `undefined` leaves it to the data plane. */
  intercept(request: IncomingMessage): TlsServerAnswer | undefined;
  close(): void;
}

export function createTlsServer({
  certificates,
  placeholder,
  ticketKeys,
  clock,
  instruments,
  log,
}: TlsServerOptions): TlsServer {
  let presented: Pick<Certificate, "chain" | "key"> | undefined = certificates.current() ?? placeholder;
  let keys = ticketKeys(clock.now());
  /** Connections by client address, the only property that a connection and its TLS socket are certain to share. */
  const pending = new Map<string, PendingHandshake>();
  let hasCertificate = certificates.current() !== undefined;

  const contextOf = (pair: typeof presented): TlsOptions => ({
    ...PROTOCOL,
    ...(pair !== undefined && { cert: pair.chain, key: pair.key }),
    ticketKeys: keys,
  });
  const server = createServer({
    ...contextOf(presented),
    ALPNProtocols: ["http/1.1"],
    handshakeTimeout: HANDSHAKE_LIMIT_MS,
  });
  const handshakes = createHandshakes(
    (raw) => {
      if (!raw.destroyed) server.emit("connection", raw);
    },
    () => counters.countDropped(),
  );
  const counters: HandshakeCounters = observeHandshakes(instruments, () => handshakes.count);

  server.on("secureConnection", (socket: TLSSocket) => {
    counters.countSuccess(socket);
    const found = takePending(socket);
    if (found === undefined) socket.destroy();
    else found.onHttp(socket);
  });
  server.on("tlsClientError", (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    counters.countFailure(error);
    log.debug("handshake failed", { code: error.code });
    takePending(socket);
    socket.destroy();
  });
  const takePending = (socket: Socket): PendingHandshake | undefined => {
    const key = addressesOf(socket);
    const found = pending.get(key);
    pending.delete(key);
    if (found !== undefined) handshakes.end(found.raw);
    return found;
  };

  const presentCurrent = (): void => {
    const next = certificates.current();
    hasCertificate = next !== undefined;
    if (next === undefined || next === presented) return;
    try {
      server.setSecureContext(contextOf(next));
      presented = next;
    } catch (error) {
      log.error("the certificate cannot be presented; the previous one stays in use", { serial: next.serial, error });
    }
  };
  const unwatch = certificates.onChange(presentCurrent);
  const renewTicketKeys = (): void => {
    const next = ticketKeys(clock.now());
    if (next.equals(keys)) return;
    keys = next;
    server.setTicketKeys(keys);
  };
  const timer = setInterval(renewTicketKeys, TICKET_KEYS_CHECK_MS).unref();

  return {
    accept(raw, onHttp) {
      raw.on("error", () => undefined); // `close` follows every error
      const limit = setTimeout(() => {
        counters.countSilent();
        raw.destroy();
      }, FIRST_BYTE_LIMIT_MS);
      raw.once("close", () => clearTimeout(limit));
      raw.once("readable", () => {
        clearTimeout(limit);
        const bytes: Buffer | null = raw.read();
        if (bytes === null) {
          raw.destroy(); // The client has closed the connection without sending anything.
          return;
        }
        raw.unshift(bytes);
        if (bytes[0] !== HANDSHAKE_BYTE) {
          onHttp(raw);
          return;
        }
        // A client that half-closes during a handshake is treated as gone, as in every TLS server.
        raw.allowHalfOpen = false;
        const key = addressesOf(raw);
        pending.set(key, { raw, onHttp });
        raw.once("close", () => {
          if (pending.get(key)?.raw === raw) pending.delete(key);
        });
        handshakes.begin(raw);
      });
    },
    intercept(request) {
      const isSecure = (request.socket as Partial<TLSSocket>).encrypted === true;
      const { url = "" } = request;
      if (isSecure && hasCertificate && !url.startsWith(CHALLENGE_PATH)) return undefined;
      if (url.startsWith(CHALLENGE_PATH) && (request.method === "GET" || request.method === "HEAD")) {
        return { kind: "challenge", keyAuthorization: challengeOf(certificates, request) };
      }
      if (!isSecure) return { kind: "refused", refusal: tlsRequired() };
      return hasCertificate ? undefined : { kind: "refused", refusal: noCertificate(certificates) };
    },
    close() {
      clearInterval(timer);
      unwatch();
    },
  };
}

interface PendingHandshake {
  readonly raw: Socket;
  readonly onHttp: (socket: Socket) => void;
}

const addressesOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;

function challengeOf(
  certificates: Certificates,
  { url = "", headers }: IncomingMessage,
): MaybePromise<string | undefined> {
  const token = url.slice(CHALLENGE_PATH.length);
  const host = (headers.host ?? "").toLowerCase().replace(/:\d+$/, "");
  return TOKEN.test(token) ? certificates.challenge(host, token) : undefined;
}

const tlsRequired = (): GatewayError =>
  new GatewayError(
    "tls_required",
    "This port speaks TLS: use https:// in the URL. If the request had a credential, it crossed the network unencrypted, so replace it.",
  );

const noCertificate = (certificates: Certificates): GatewayError => {
  const { failure } = certificates.status();
  return new GatewayError(
    "no_certificate",
    `The gateway has no certificate yet and serves nothing until it has one.${failure === undefined ? "" : " The last attempt failed; the operator finds the reason in the log."}`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
};
