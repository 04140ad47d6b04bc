/** The front door's certificate, whoever keeps it: files that an operator rotates, or an ACME authority. */

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

/** Why there is no newer certificate. Never holds a key, a token or a key authorization. */
export interface CertificateFailure {
  /** Short and of a fixed set: the label of a metric. */
  readonly reason: string;
  /** One line for a person. */
  readonly message: string;
  /** When, in milliseconds since 1970; of one that repeats itself, the last time. */
  readonly at: number;
}

/** What `GET /status`, the table `certificates` and the console tell, beside the certificate in force. */
export interface CertificateStanding {
  /** Where it comes from: path of the file, or directory URL of the authority. */
  readonly source: string;
  /** Names that it is to have; of files, those that it has. */
  readonly names: readonly string[];
  /** When it is to be renewed; undefined: by whoever keeps the files. */
  readonly nextRenewal: number | undefined;
  /** What is being done just now, such as a step of an order; undefined: nothing. */
  readonly step: string | undefined;
  /** Undefined once a newer certificate has been taken up, or what is wrong was put right. */
  readonly failure: CertificateFailure | undefined;
  /** Failed attempts since the last that succeeded. */
  readonly failures: number;
  /** When it is tried again; undefined: it is not waiting for that. */
  readonly nextAttempt: number | undefined;
}

/** A worker asks its node process. */
export type MaybeLater<Value> = Value | Promise<Value>;

/** All that the listener and the admin plane need to know. Nothing here waits. */
export interface Certificates {
  readonly mode: "files" | "acme";
  /** In force on this node; undefined before the first. */
  current(): Certificate | undefined;
  standing(): CertificateStanding;
  /**
   * The key authorization of an HTTP-01 challenge that is under way (RFC 8555 section 8.3); undefined: none of ours.
   * `host`: as the client named it, without its port, in lower case.
   */
  challenge(host: string, token: string): MaybeLater<string | undefined>;
  /** Called after `current` or `standing` changed; returns the way to end it. */
  onChange(listener: () => void): () => void;
  close(): void | Promise<void>;
}
