/**
 * The replicated state machine as its users see it: rows of text under text keys, changed only by commands of the log.
 *
 * Every replica applies the same entries in the same order and holds the same bytes. Nothing here reads a clock, draws
 * a random number, awaits or iterates in an order that is not that of the keys. Source: cluster reference, section 6.
 */

/** A row: one schema character, then JSON. Keys are ASCII, at most 512 bytes, compared by code unit. */
export interface Mutation {
  readonly key: string;
  /** Undefined removes the row. */
  readonly value: string | undefined;
}

/** Where the machine stands. `now`: the highest time stamped so far, milliseconds since 1970. */
export interface Applied {
  readonly index: number;
  readonly term: number;
  readonly now: number;
}

/** What a command came to: itself state, the same on every replica. `error` is a stable code, `message` a fixed text. */
export type CommandResult =
  | { readonly kind: "ok"; readonly value: unknown }
  | { readonly kind: "refused"; readonly code: string; readonly message: string };

/** A committed entry of the log, without what only consensus needs. */
export interface CommittedEntry {
  readonly index: number;
  readonly term: number;
  /** As made by `encodeProposal`; empty in a leader's first entry. */
  readonly data: Uint8Array;
}

export interface ApplyOutcome {
  /** Undefined for an entry without a command. */
  readonly result: CommandResult | undefined;
  /** In the order of their keys; at most one a key. */
  readonly mutations: readonly Mutation[];
  /** The whole state was replaced (a restore): rows of before are gone, `mutations` are not listed. */
  readonly replaced: boolean;
}

/** Who asked, for audit: `{"iss":"local","sub":"unix:0"}`. */
export interface Actor {
  readonly iss: string;
  readonly sub: string;
}

/**
 * A command as its proposer encodes it, once: `t` names it, `p` holds its fields, `v` is its version. `c` and `s` make
 * it exactly once: a process draws `c` at its start and counts `s` up from 1. `k`: the idempotency key of an admin
 * caller, `<principal>/<key>`, with `kd` the digest of what was asked, so that another request under the key is refused.
 */
export interface Command {
  readonly v: number;
  readonly t: string;
  readonly id: string;
  readonly c: string;
  readonly s: number;
  readonly by: Actor;
  readonly k?: string;
  readonly kd?: string;
  readonly p: unknown;
}

/** What the feature level of this build allows; see `feat/level`. */
export interface FeatureRange {
  readonly min: number;
  readonly max: number;
}

/** The machine. One owner; methods are synchronous. */
export interface State {
  readonly applied: Applied;
  /** 32 hex digits: XOR over all rows of the first 16 bytes of SHA-256(key 0x00 value). Equal on all at equal index. */
  readonly digest: string;
  /** Time by which the last entry was decided; behind `applied.now` where the log is ahead of the members' clocks. */
  readonly decidedAt: number;
  readonly rowCount: number;
  /** Sum of the lengths of keys and values. */
  readonly byteLength: number;
  get(key: string): string | undefined;
  /** Rows whose key begins with `prefix`, in the order of their keys. */
  scan(prefix: string): Iterable<readonly [key: string, value: string]>;
  /**
   * Entries must follow each other without a gap: anything else throws a `RangeError`. Throws `UpgradeRequired` on a
   * command, version, format or feature level that this build does not know: going on would fork the state. After a
   * throw the machine stands where it stood.
   */
  apply(entry: CommittedEntry): ApplyOutcome;
  /** As `apply` for an entry that changed the configuration: `context` is that of the change, JSON of `MembersChange`. */
  applyConfiguration(entry: CommittedEntry, context: Uint8Array, memberIds: readonly string[]): ApplyOutcome;
}

/** A member as the cluster knows it, row `member/<id>`. */
export interface Member {
  readonly id: string;
  /** Identity of its data directory, 32 hex digits; empty until the member first reported it. */
  readonly storage: string;
  readonly raft_addr: string;
  readonly forward_addr: string;
  readonly version: string;
  readonly proto: readonly [min: number, max: number];
  readonly feature: readonly [min: number, max: number];
  /** Raised at every start of its process. */
  readonly incarnation: number;
}

/** Context of a configuration change: what is known of those who are added. */
export interface MembersChange {
  readonly added: readonly Member[];
}
