/** Metrics of the data listener's TLS: the certificate in use, its validity, and results of handshakes. */
import type { TLSSocket } from "node:tls";
import type { Instruments } from "../../base/index.ts";
import type { Certificates } from "./types.ts";

export interface HandshakeCounters {
  countSuccess(socket: TLSSocket): void;
  countFailure(error: NodeJS.ErrnoException): void;
  /** Counts a connection that sent nothing. */
  countSilent(): void;
  /** Counts a handshake that was closed to make room for others. */
  countDropped(): void;
}

/** Reasons for failed handshakes, by Node's error code; all others are `other`. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNRESET: "client_left",
  EPIPE: "client_left",
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: "not_trusted",
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: "not_trusted",
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN: "not_trusted",
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: "not_trusted",
  ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR: "not_trusted",
  ERR_SSL_UNSUPPORTED_PROTOCOL: "version",
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: "version",
  ERR_SSL_WRONG_VERSION_NUMBER: "version",
  ERR_SSL_VERSION_TOO_LOW: "version",
  ERR_SSL_NO_SHARED_CIPHER: "cipher",
  ERR_SSL_NO_SUITABLE_SIGNATURE_ALGORITHM: "cipher",
  ERR_SSL_NO_APPLICATION_PROTOCOL: "alpn",
  ERR_TLS_HANDSHAKE_TIMEOUT: "timeout",
};

export function observeHandshakes(instruments: Instruments, inProgress: () => number): HandshakeCounters {
  const done = instruments.counter(
    "gateway_tls_handshakes_total",
    "Successful TLS handshakes, by version and by whether the client resumed a session.",
    ["version", "resumed"],
  );
  const failed = instruments.counter("gateway_tls_handshake_failures_total", "Failed TLS handshakes, by reason.", [
    "reason",
  ]);
  instruments.observedGauge("gateway_tls_handshakes_under_way", "TLS handshakes in progress.", inProgress);
  return {
    countSuccess: (socket) =>
      done.with(socket.getProtocol() ?? "unknown", socket.isSessionReused() ? "yes" : "no").inc(),
    countFailure: ({ code = "" }) => failed.with(REASONS[code] ?? "other").inc(),
    countSilent: () => failed.with("silent").inc(),
    countDropped: () => failed.with("dropped").inc(),
  };
}

/** Registers the metrics of this node's certificate, which are 0 while it has none. */
export function observeCertificate(instruments: Instruments, certificates: Certificates): void {
  const seconds = (ms: number | undefined): number => (ms ?? 0) / 1_000;
  instruments.observedGauge(
    "gateway_certificate_not_after_seconds",
    "Time at which the certificate of the data listener expires, in seconds since 1970. 0 if there is none yet.",
    () => seconds(certificates.current()?.notAfter),
  );
  instruments.observedGauge(
    "gateway_certificate_not_before_seconds",
    "Time from which the certificate of the data listener is valid, in seconds since 1970. 0 if there is none yet.",
    () => seconds(certificates.current()?.notBefore),
  );
  instruments.observedGauge(
    "gateway_certificate_failures",
    "Failed renewals of the certificate since the last success.",
    () => certificates.status().failures,
  );
}
