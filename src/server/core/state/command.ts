/** Definition of a command of the state machine: name, versions, field parser and effect. */

import { refused } from "./command-refusals.ts";
import { Malformed, type Parser, type Shape, shapeOf } from "./fields.ts";
import type { Draft } from "./mutation-draft.ts";
import type { Rows } from "./ordered-rows.ts";
import type { Steps } from "./steps.ts";
import type { Actor, CommandResult } from "./types.ts";

/** Everything that the effect of a command may read and change. */
export interface Site {
  readonly draft: Draft;
  /** Log time, in milliseconds since 1970. */
  readonly now: number;
  /** Index of the entry being applied. */
  readonly index: number;
  readonly by: Actor;
  /** Digest of the state before the entry. */
  readonly digest: string;
  /** Replaces the whole state by these rows, instead of changing the draft. The state machine owns them from then on. */
  replace(rows: Rows): void;
}

/** Command with its fields, ready for its envelope. */
export interface NamedCommand {
  readonly t: string;
  readonly v: number;
  readonly p: unknown;
}

export interface CommandRule {
  readonly name: string;
  /** Newest supported version of the command. */
  readonly version: number;
  /** Minimum feature level at which it may be proposed. */
  readonly level: number;
  /** Returns the shape of its fields. */
  shape(): Shape;
  /**
   * Runs the command. Malformed fields are refused as `invalid`. Inconsistent rows, which only a forged archive can contain,
   * refuse the command too: the result is then the same on every replica, while an error would stop all of them permanently.
   * A command on the whole state returns the steps to its result.
   */
  run(fields: unknown, site: Site): CommandResult | Steps<CommandResult>;
}

/** Rule of a command, together with the only function that creates the command. */
interface Defined<P> extends CommandRule {
  make(fields: P): NamedCommand;
}

/**
 * Returns the rule of a command: `effect` applies its parsed `fields` to a draft of the state. `version` and `level` default
 * to 1.
 */
export function define<P>(
  name: string,
  fields: Parser<P>,
  effect: (fields: P, site: Site) => CommandResult | Steps<CommandResult>,
  { version = 1, level = 1 }: { readonly version?: number; readonly level?: number } = {},
): Defined<P> {
  return {
    name,
    version,
    level,
    shape: () => shapeOf(fields),
    make: (p) => ({ t: name, v: version, p }),
    run(params, site) {
      let parsed: P;
      try {
        parsed = fields(params);
      } catch (error) {
        if (error instanceof Malformed) return refused("invalid");
        throw error;
      }
      try {
        const result = effect(parsed, site);
        return "kind" in result ? result : refuseFaults(result);
      } catch (error) {
        return stateFault(error);
      }
    },
  };
}

function* refuseFaults(steps: Steps<CommandResult>): Steps<CommandResult> {
  try {
    return yield* steps;
  } catch (error) {
    return stateFault(error);
  }
}

/** Returns the refusal for inconsistent rows; throws any other error. */
function stateFault(error: unknown): CommandResult {
  if (error instanceof Malformed) return refused("state_fault");
  throw error;
}
