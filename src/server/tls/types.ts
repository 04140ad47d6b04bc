/** Types for the front door's certificate, whether from files or from an ACME authority. */

/** Sound: the key is that of the chain's first certificate, and a server can present both. Times: milliseconds since 1970. */
export interface Certificate {
  /** PEM: the server's own, then those that issued it, without the root. */
  readonly chain: string;
  /** PEM, not encrypted. */
  readonly key: string;
  /** DNS names and addresses of the subject alternative names, as they are written there. */
  readonly names: readonly string[];
  /** Common name of the issuer, or the whole of its name where it has none. */
  readonly issuer: string;
  /** Hex, upper case. */
  readonly serial: string;
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Reason why there is no newer certificate. Never contains a key, a token or a key authorization. */
export interface CertificateFailure {
  /** Short and of a fixed set: the label of a metric. */
  readonly reason: string;
  /** One line for people. */
  readonly message: string;
  /** Time of the failure, in milliseconds since 1970; the last time if it repeats. */
  readonly at: number;
}

/** State of the certificate for `GET /status`, the list `certificates` and the console. */
export interface CertificateStatus {
  /** Origin: path of the file, or directory URL of the authority. */
  readonly source: string;
  /** Names that it is to have; of files, those that it has. */
  readonly names: readonly string[];
  /** Time of the next renewal; `undefined` for files, which somebody else renews. */
  readonly nextRenewal: number | undefined;
  /** Current activity, such as a step of an order; `undefined` if there is none. */
  readonly step: string | undefined;
  /** `undefined` once a newer certificate is in use or the fault was fixed. */
  readonly failure: CertificateFailure | undefined;
  /** Failed attempts since the last that succeeded. */
  readonly failures: number;
  /** Time of the next attempt; `undefined` if none is planned. */
  readonly nextAttempt: number | undefined;
}

/** A worker asks its node process. */
export type MaybeLater<Value> = Value | Promise<Value>;

/** Interface for the listener and the admin API. All calls return at once. */
export interface Certificates {
  readonly mode: "files" | "acme";
  /** Certificate in use on this node; `undefined` before the first. */
  current(): Certificate | undefined;
  standing(): CertificateStatus;
  /**
   * Returns the key authorization of a pending HTTP-01 challenge (RFC 8555 section 8.3), or `undefined` if it is unknown.
   * `host`: as sent by the client, lower case, without port.
   */
  challenge(host: string, token: string): MaybeLater<string | undefined>;
  /** Called after `current` or `standing` changed; returns the way to end it. */
  onChange(listener: () => void): () => void;
  close(): void | Promise<void>;
}
