/**
 * Operations that a client of the cluster can request from a node. Registers are suspensions with the value in the reason; a claim is a
 * key that can be created once, with the value in its metadata.
 */

/** Three outcomes, never two: a write that was certainly not done differs from one that may still be done. */
export type Outcome<Value> =
  | { readonly kind: "done"; readonly value: Value }
  | { readonly kind: "failed"; readonly code: string; readonly message: string }
  | { readonly kind: "unknown"; readonly code: string; readonly message: string };

/** Name to value. */
export type Contents = ReadonlyMap<string, number>;

interface MemberStatus {
  readonly id: string;
  readonly voter: boolean;
}

export interface NodeStatus {
  readonly role: "leader" | "follower" | "candidate" | "learner" | "removed";
  readonly leader: string | undefined;
  readonly term: number;
  readonly applied: number;
  readonly members: readonly MemberStatus[];
}

export interface NodeClient {
  write(register: string, value: number, limitMs: number): Promise<Outcome<undefined>>;
  /** Returns false if the name is taken. */
  claim(name: string, value: number, limitMs: number): Promise<Outcome<boolean>>;
  erase(register: string, limitMs: number): Promise<Outcome<undefined>>;
  /** Reads linearizably. */
  registers(limitMs: number): Promise<Outcome<Contents>>;
  claims(limitMs: number): Promise<Outcome<Contents>>;
  /** Reads this node's own state, whichever leads. */
  localRegisters(): Promise<Contents>;
  localClaims(): Promise<Contents>;
  status(): Promise<NodeStatus>;
  /** Returns everything the node reports about itself and its members, for failure messages. */
  report(): Promise<string>;
  remove(id: string): Promise<Outcome<undefined>>;
  prune(keep: readonly string[]): Promise<Outcome<undefined>>;
  transfer(to: string | undefined): Promise<Outcome<string>>;
  /** Saves the archive; `stale` allows it on a node that does not lead. */
  save(stale: boolean): Promise<Uint8Array>;
  restore(archive: Uint8Array): Promise<Outcome<undefined>>;
  close(): void;
}
