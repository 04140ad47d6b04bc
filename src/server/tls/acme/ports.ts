/** Ports that orders need from the node. `server/node` provides them; tests use an in-memory implementation. */

/** Row as opened on this node. */
export type OpenedRow =
  | { readonly kind: "row"; readonly version: number; readonly value: string }
  | { readonly kind: "none" }
  /** The row exists but cannot be opened on this node; `message` says why. */
  | { readonly kind: "sealed"; readonly version: number; readonly message: string };

export type RowTable = "certificate" | "account";

export interface RowWrite {
  readonly table: RowTable;
  readonly id: string;
  /** Version to replace; null if there must be none. */
  readonly expect: number | null;
  readonly value: string;
  /** Names in the certificate. Like `notAfter`, they are stored unsealed, so that they are readable without opening the row. */
  readonly names: readonly string[];
  /** Expiry, in milliseconds since 1970; null while no certificate is issued. */
  readonly notAfter: number | null;
}

/** Access to the replicated rows and to leadership. Values are sealed before they leave this process. */
export interface CertificateStore {
  read(table: RowTable, id: string): OpenedRow;
  /** Returns all certificates, including those of other names. */
  certificates(): readonly { readonly id: string; readonly version: number; readonly notAfter: number | null }[];
  /** Returns all accounts. `at`: last write, in milliseconds since 1970. */
  accounts(): readonly { readonly id: string; readonly version: number; readonly at: number }[];
  /** Returns `stale` if another version exists. Rejects if it is unknown whether the row was stored. */
  write(row: RowWrite, signal: AbortSignal): Promise<"stored" | "stale">;
  /** Removes a row unless it has changed since. */
  remove(table: RowTable, id: string, version: number, signal: AbortSignal): Promise<void>;
  /** Returns whether this node leads, as far as it knows. */
  isLeader(): boolean;
  /** Resolves once reads here include everything that was acknowledged anywhere before. */
  whenCaughtUp(signal: AbortSignal): Promise<void>;
  /** Resolves once every reachable node has all rows written here, or after a timeout. */
  whenReplicated(signal: AbortSignal): Promise<void>;
  /** Registers a listener for changes of rows or of the leader. Returns a function that removes it. */
  onChange(listener: () => void): () => void;
}

/** Writes the TXT records of DNS-01 challenges. Both calls may be repeated and reject with `AttemptFailed`. */
export interface DnsProvider {
  /** Writes the records. Resolves once the authoritative servers return all of them. */
  publish(records: readonly { readonly name: string; readonly value: string }[], signal: AbortSignal): Promise<void>;
  /** Removes a record. Succeeds if it does not exist. */
  remove(record: { readonly name: string; readonly value: string }, signal: AbortSignal): Promise<void>;
  /** Checks, as far as possible without writing, whether records of these names could be written. Resolves with a description. */
  check(names: readonly string[], signal: AbortSignal): Promise<string>;
}
