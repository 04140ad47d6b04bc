/**
 * Opens a link to an address: connection, TLS with one of the identity's faces, hello. If it fails, nothing of the caller's data
 * has been sent.
 *
 * Under TLS 1.3 the dialing side's handshake ends before the other side has checked its certificate. So a link is up only after
 * `hello_ok`, and a peer that closes instead of answering hello most likely has another secret.
 */

import { type ConnectionOptions, connect } from "node:tls";
import { parseAddress } from "../../../base/index.ts";
import type { DialCredential, Identity, Peer } from "../identity/index.ts";
import { encodeFrame, encodeJson, KIND } from "./frame.ts";
import {
  describeHello,
  HELLO_MS,
  helloRefusalCode,
  type Purpose,
  parseHelloOk,
  parseRefusal,
  type SelfDescription,
} from "./hello.ts";
import { type Link, type LinkHandlers, openWire } from "./link.ts";
import { systemTiming, type Timing } from "./timing.ts";
import { WireError } from "./wire-error.ts";

export type DialFailure =
  /** No connection was made: refused, no such name, no route, no answer in time. */
  | "unreachable"
  /** One side does not trust the other's certificate: most likely another cluster secret. */
  | "untrusted"
  /** The peer, or this side when it read the peer's answer, refused with a code. */
  | "refused"
  /** The connection did not do what was expected: no TLS, invalid data, silence. */
  | "broken";

export class DialError extends Error {
  override readonly name = "DialError";
  readonly kind: DialFailure;
  /** Code of a refusal, of a certificate error or of the system. */
  readonly code: string;
  /** Whether the peer refused this side, and not the other way round. */
  readonly isRefusedByPeer: boolean;

  constructor(
    kind: DialFailure,
    code: string,
    message: string,
    options: ErrorOptions & { readonly isRefusedByPeer?: boolean } = {},
  ) {
    super(message, options);
    this.kind = kind;
    this.code = code;
    this.isRefusedByPeer = options.isRefusedByPeer === true;
  }
}

export interface DialOptions {
  /** Address as `host:port`; names are resolved at each call. */
  readonly address: string;
  readonly identity: Identity;
  readonly self: SelfDescription;
  readonly purpose: Purpose;
  /** Node to reach; `undefined` if any will do. */
  readonly to?: string;
  /** Timeout for connection, TLS and hello together, in milliseconds. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly timing?: Timing;
  /** Called when the link is up, before its first frame. */
  onLink(link: Link): LinkHandlers;
}

/** Opens a link. Rejects with a `DialError`, or with the signal's reason. */
export async function dial(options: DialOptions): Promise<Link> {
  const timeoutMs = options.timeoutMs ?? HELLO_MS;
  const [first, second] = options.identity.dialCredentials();
  if (first === undefined) throw new TypeError("the identity has no certificate");
  try {
    return await dialAs(first, timeoutMs, options);
  } catch (error) {
    if (!(error instanceof DialError) || error.kind !== "untrusted" || second === undefined) throw error;
    try {
      return await dialAs(second, timeoutMs, options);
    } catch (again) {
      // If both certificates fail, the first failure is reported, unless the peer accepted the second certificate and refused.
      throw again instanceof DialError && again.kind !== "refused" ? error : again;
    }
  }
}

function dialAs(face: DialCredential, timeoutMs: number, options: DialOptions): Promise<Link> {
  const { address, identity, self, purpose, to, signal, timing = systemTiming } = options;
  signal?.throwIfAborted();
  const { host, port } = parseAddress(address) ?? {};
  if (host === undefined || port === undefined) {
    const message = `${JSON.stringify(address)} is not an address to dial`;
    return Promise.reject(new DialError("unreachable", "not_an_address", message));
  }
  return new Promise((resolve, reject) => {
    const socket = connect({ ...(face.options satisfies ConnectionOptions), host, port });
    let stage: "connecting" | "handshake" | "hello" = "connecting";
    let peer: Peer | undefined;
    let link: Link | undefined;

    const stopTimer = timing.after(timeoutMs, () => {
      const kind = stage === "connecting" ? "unreachable" : "broken";
      fail(new DialError(kind, "timeout", `${address} did not answer within ${timeoutMs} ms`));
    });
    const onAbort = (): void => fail(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    const settle = (): void => {
      stopTimer();
      signal?.removeEventListener("abort", onAbort);
    };
    const fail = (reason: unknown): void => {
      if (link !== undefined) return;
      settle();
      socket.destroy();
      reject(reason);
    };

    socket.once("connect", () => {
      stage = "handshake";
    });
    socket.once("secureConnect", () => {
      stage = "hello";
      const judged = identity.checkPeer(socket);
      if (judged.kind !== "node") {
        const reason = judged.kind === "refused" ? judged.reason : "the certificate is not a node's";
        fail(new DialError("untrusted", "certificate", `${address}: ${reason}`));
        return;
      }
      if (to !== undefined && judged.id !== to) {
        fail(new DialError("refused", "wrong_node", `${address} is ${judged.id}, not ${to}`));
        return;
      }
      peer = judged;
      wire.send(encodeFrame({ kind: KIND.hello }, encodeJson(describeHello(self, purpose, to, face.clusterId))));
    });
    const wire = openWire({
      socket,
      isDialer: true,
      timing,
      onFirstFrame(frame) {
        if (peer === undefined) throw new WireError("a frame before hello");
        if (frame.kind === KIND.helloRefused) {
          const code = parseRefusal(frame.payload);
          fail(new DialError("refused", code, `${address} refused: ${code}`, { isRefusedByPeer: true }));
          return undefined;
        }
        if (frame.kind !== KIND.helloOk) throw new WireError("hello was not answered");
        const code = helloRefusalCode(parseHelloOk(frame.payload), peer, self, identity.clusterIds);
        if (code !== undefined) {
          fail(new DialError("refused", code, `the answer of ${address} was refused: ${code}`));
          return undefined;
        }
        settle();
        link = { ...wire, peer };
        const handlers = options.onLink(link);
        resolve(link);
        return handlers;
      },
      onEarlyEnd: (error) => fail(toDialError(error, stage, address)),
    });
  });
}

/** TLS alerts by which the other side refuses this side's certificate. */
const REJECTED = /ALERT_(?:UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_|ACCESS_DENIED|UNSUPPORTED_CERTIFICATE)/;
/** Node's error codes for a certificate chain that OpenSSL does not accept. */
const UNVERIFIED = /CERT|UNABLE_TO_|ALTNAME/;
/** Codes and alerts of a certificate that is not valid at this time: the clocks differ, not the secrets. */
const UNTIMELY = /EXPIRED|NOT_YET_VALID/;

/** Returns the likely cause of an untrusted certificate: its authority is derived from the cluster secret. */
const causeOf = (code: string): string =>
  UNTIMELY.test(code) ? "are the clocks of both nodes right?" : "is `cluster.secret` the same on both nodes?";

function toDialError(
  error: Error | undefined,
  stage: "connecting" | "handshake" | "hello",
  address: string,
): DialError {
  const cause = error ?? new Error("the connection was closed");
  const code = codeOf(cause);
  const options = { cause };
  if (stage === "connecting") return new DialError("unreachable", code, `${address}: ${cause.message}`, options);
  if (cause instanceof WireError) return new DialError("broken", "garbage", `${address}: ${cause.message}`, options);
  if (REJECTED.test(code)) {
    return new DialError(
      "untrusted",
      code,
      `${address} does not trust this side's certificate; ${causeOf(code)}`,
      options,
    );
  }
  if (stage === "handshake") {
    return UNVERIFIED.test(code)
      ? new DialError(
          "untrusted",
          code,
          `the certificate of ${address} is not trusted: ${code}; ${causeOf(code)}`,
          options,
        )
      : new DialError("broken", code, `${address}: TLS failed: ${cause.message}`, options);
  }
  const closed = `${address} closed the connection after this side's certificate; ${causeOf(code)}`;
  return new DialError("untrusted", code, closed, options);
}

function codeOf(error: Error & { readonly code?: unknown }): string {
  return typeof error.code === "string" ? error.code : "closed";
}
