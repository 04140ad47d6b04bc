/** Definition of a command of the state machine: name, versions, field parser and effect. */

import { refused } from "./command-refusals.ts";
import { Malformed, type Parser, type Shape, shapeOf } from "./fields.ts";
import type { Draft } from "./mutation-draft.ts";
import type { Actor, CommandResult } from "./types.ts";

/** Everything that an effect may read and change. */
export interface Site {
  readonly draft: Draft;
  /** Log time, milliseconds since 1970. */
  readonly now: number;
  /** Index of the entry being applied. */
  readonly index: number;
  readonly by: Actor;
  /** Digest of the state before the entry. */
  readonly digest: string;
  /** Makes these rows the whole state in place of the draft; in the order of their keys. */
  replace(rows: readonly (readonly [key: string, value: string])[]): void;
}

/** A command with its fields, ready to be put into an envelope. */
export interface NamedCommand {
  readonly t: string;
  readonly v: number;
  readonly p: unknown;
}

export interface CommandRule {
  readonly name: string;
  /** The newest version that is understood. */
  readonly version: number;
  /** The feature level from which it may be proposed. */
  readonly level: number;
  /** Shape of its fields. */
  shape(): Shape;
  /**
   * Refused as `invalid` where the fields are malformed. Rows that do not fit together, as only a forged archive can
   * bring in, refuse the command too: the same on every replica, while an error would stop them all for good.
   */
  run(fields: unknown, site: Site): CommandResult;
}

/** A rule together with the one way to make the command. */
export interface Defined<P> extends CommandRule {
  make(fields: P): NamedCommand;
}

export function define<P>(
  name: string,
  fields: Parser<P>,
  effect: (fields: P, site: Site) => CommandResult,
  { version = 1, level = 1 }: { readonly version?: number; readonly level?: number } = {},
): Defined<P> {
  return {
    name,
    version,
    level,
    shape: () => shapeOf(fields),
    make: (p) => ({ t: name, v: version, p }),
    run(given, site) {
      let parsed: P;
      try {
        parsed = fields(given);
      } catch (error) {
        if (error instanceof Malformed) return refused("invalid");
        throw error;
      }
      try {
        return effect(parsed, site);
      } catch (error) {
        if (error instanceof Malformed) return refused("state_fault");
        throw error;
      }
    },
  };
}
