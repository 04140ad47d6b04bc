/** What a view, a dialog or a verb may look at: readings, the clock, and who asks. */

import type { Data } from "./data.ts";
import type { Chord } from "./key.ts";
import type { Favorite } from "./preferences.ts";
import type { Recurrences } from "./recurrence.ts";
import type { Sweep } from "./sweep.ts";
import type { Verification } from "./verification.ts";

export interface Context {
  readonly data: Data;
  /** Milliseconds since 1970; steps once a second, and not while the screen is frozen. */
  readonly now: number;
  /** What follows the view's name: the provider whose errors, the source whose revisions. */
  readonly subject: string | undefined;
  readonly isReadOnly: boolean;
  readonly isAscii: boolean;
  /** How a command line names this door: `-socket /run/gateway/admin.sock`. */
  readonly doorFlags: string;
  /** Lines of the audit stream that was given, newest last; undefined: none was. */
  readonly tail: readonly string[] | undefined;
  /** Why that stream cannot be read; left out where it can. */
  readonly tailWhy?: string | undefined;
  /** Of an audit trail, the newest; undefined: none was asked for. */
  readonly verification: Verification | undefined;
  /** Left out: nothing was seen. */
  readonly recurrences?: Recurrences;
  /** Views kept under function keys; left out: none. */
  readonly favorites?: ReadonlyMap<Chord, Favorite>;
  /** Of the guardrails, the newest; undefined: none was asked for. */
  readonly sweep?: Sweep | undefined;
}
