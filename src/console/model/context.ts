/** Input of a view, a dialog or a command: readings, the clock and the signed-in caller. */

import type { ChartScale } from "./chart-scale.ts";
import type { Data } from "./data.ts";
import type { Chord } from "./key-event.ts";
import type { Favorite } from "./preferences.ts";
import type { Recurrences } from "./recurrence.ts";
import type { RehearsedRequests } from "./rehearsal.ts";
import type { Sweep } from "./sweep.ts";
import type { Verification } from "./verification.ts";

export interface Context {
  readonly data: Data;
  /** Time in milliseconds since 1970. Advances once a second, except while the screen is frozen. */
  readonly now: number;
  /** Argument after the view's name, such as the provider whose errors or the source whose revisions are listed. */
  readonly subject: string | undefined;
  readonly isReadOnly: boolean;
  readonly isAscii: boolean;
  /** Flags that select this admin endpoint on a command line: `-socket /run/gateway/admin.sock`. */
  readonly endpointFlags: string;
  /** Lines of the audit stream, newest last; `undefined` if no audit file was passed. */
  readonly tail: readonly string[] | undefined;
  /** Reason why the audit stream cannot be read; missing if it can. */
  readonly tailError?: string | undefined;
  /** Newest verification of an audit trail; `undefined` if none was requested. */
  readonly verification: Verification | undefined;
  /** Recurrences of acknowledged alerts; missing if nothing was observed. */
  readonly recurrences?: Recurrences;
  /** Time span of charts; missing: 15 minutes. */
  readonly chartScale?: ChartScale;
  /** Views saved under function keys; missing if there are none. */
  readonly favorites?: ReadonlyMap<Chord, Favorite>;
  /** Newest threshold sweep of the guardrails; `undefined` if none was requested. */
  readonly sweep?: Sweep | undefined;
  /** Rehearsal whose requests were opened last; missing if none were. */
  readonly rehearsed?: RehearsedRequests | undefined;
}
