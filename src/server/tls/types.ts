/** Types for the data listener's certificate, whether from files or from an ACME authority. */

/**
 * Checked certificate: the key is that of the chain's first certificate, and a server can present both. Times are milliseconds
 * since 1970.
 */
export interface Certificate {
  /** PEM of the server's certificate, then its issuers, without the root. */
  readonly chain: string;
  /** Unencrypted PEM. */
  readonly key: string;
  /** DNS names and addresses of the subject alternative names, as they are written there. */
  readonly names: readonly string[];
  /** Common name of the issuer, or its full name if it has none. */
  readonly issuer: string;
  /** Serial number in upper-case hex. */
  readonly serial: string;
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Reason why there is no newer certificate. Never contains a key, a token or a key authorization. */
export interface CertificateFailure {
  /** Metric label from a fixed set. */
  readonly reason: string;
  /** Message of one line for operators. */
  readonly message: string;
  /** Time of the failure, in milliseconds since 1970; the last time if it repeats. */
  readonly at: number;
}

/** State of the certificate for `GET /status`, the list `certificates` and the console. */
export interface CertificateStatus {
  /** Origin: path of the file, or directory URL of the authority. */
  readonly source: string;
  /** Names that the certificate should have; with files, the names that it has. */
  readonly names: readonly string[];
  /** Time of the next renewal; `undefined` for files, which are renewed elsewhere. */
  readonly nextRenewal: number | undefined;
  /** Current activity, such as a step of an order; `undefined` if there is none. */
  readonly step: string | undefined;
  /** Current failure; `undefined` once a newer certificate is in use or the fault was fixed. */
  readonly failure: CertificateFailure | undefined;
  /** Failed attempts since the last that succeeded. */
  readonly failures: number;
  /** Time of the next attempt; `undefined` if none is planned. */
  readonly nextAttempt: number | undefined;
}

/** Value that is available at once in the node process; a worker has to ask for it. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Interface for the listener and the admin API. All calls return at once. */
export interface Certificates {
  readonly mode: "files" | "acme";
  /** Certificate in use on this node; `undefined` before the first. */
  current(): Certificate | undefined;
  status(): CertificateStatus;
  /**
   * Returns the key authorization of a pending HTTP-01 challenge (RFC 8555 section 8.3), or `undefined` if it is unknown.
   * `host`: as sent by the client, lower case, without port.
   */
  challenge(host: string, token: string): MaybePromise<string | undefined>;
  /** Registers a listener for changes of `current` or `status`. Returns a function that removes it. */
  onChange(listener: () => void): () => void;
  close(): void | Promise<void>;
}
