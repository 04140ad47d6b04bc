/**
 * What a client of the cluster can ask of a node. Registers are suspensions, their
 * value the reason; a claim is a key that can be created once, its value in the key's metadata.
 */

/** Of three kinds, never two: what was not done for certain is not the same as what may yet be done. */
export type Outcome<Value> =
  | { readonly kind: "done"; readonly value: Value }
  | { readonly kind: "failed"; readonly code: string; readonly message: string }
  | { readonly kind: "unknown"; readonly code: string; readonly message: string };

/** Name to value. */
export type Contents = ReadonlyMap<string, number>;

interface MemberStanding {
  readonly id: string;
  readonly voter: boolean;
}

export interface Standing {
  readonly role: "leader" | "follower" | "candidate" | "learner" | "removed";
  readonly leader: string | undefined;
  readonly term: number;
  readonly applied: number;
  readonly members: readonly MemberStanding[];
}

export interface Door {
  write(register: string, value: number, limitMs: number): Promise<Outcome<undefined>>;
  /** False where the name is taken. */
  claim(name: string, value: number, limitMs: number): Promise<Outcome<boolean>>;
  erase(register: string, limitMs: number): Promise<Outcome<undefined>>;
  /** Linearizable. */
  registers(limitMs: number): Promise<Outcome<Contents>>;
  claims(limitMs: number): Promise<Outcome<Contents>>;
  /** As this node has it, whoever leads. */
  localRegisters(): Promise<Contents>;
  localClaims(): Promise<Contents>;
  status(): Promise<Standing>;
  /** Everything that the node says of itself and of its members, for a report of a failure. */
  report(): Promise<string>;
  remove(id: string): Promise<Outcome<undefined>>;
  prune(keep: readonly string[]): Promise<Outcome<undefined>>;
  transfer(to: string | undefined): Promise<Outcome<string>>;
  /** The archive; `stale`: also of a node that does not lead. */
  save(stale: boolean): Promise<Uint8Array>;
  restore(archive: Uint8Array): Promise<Outcome<undefined>>;
  close(): void;
}
