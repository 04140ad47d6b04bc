/** What wants an operator's attention, and where that is found: one source a kind of trouble. */

import type { Acknowledgeable } from "../actions/acknowledgement.ts";
import type { Suspendable } from "../actions/suspension-words.ts";
import { span } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import type { Need } from "../model/data.ts";
import type { Tone } from "../model/text.ts";
import type { Place } from "../model/view.ts";

/** `fail`: traffic or state is lost now. `warn`: it will be, or somebody has to decide. `note`: good to know. */
export type Severity = "fail" | "warn" | "note";

export const SEVERITIES: Readonly<Record<Severity, { rank: number; mark: string; tone: Tone }>> = {
  fail: { rank: 0, mark: "!", tone: "fail" },
  warn: { rank: 1, mark: "~", tone: "warn" },
  note: { rank: 2, mark: ".", tone: "plain" },
};

export interface AttentionItem {
  /** Unique and lasting: `provider:acme-chat`. */
  readonly id: string;
  readonly severity: Severity;
  /** Orders items of one severity, the larger first: 0 to 1, such as the share that fails. */
  readonly weight: number;
  /**
   * Of how many things the row tells, or another number that grows as it gets worse within its severity; a whole one, 1 where
   * it is left out. Once it is more than it was, a row that was acknowledged is shown again.
   */
  readonly degree?: number;
  /** When it began, where that is known; milliseconds since 1970. One that began after it was acknowledged is another. */
  readonly since?: number;
  /** `FAIL`, `SUSP`: at most seven characters. */
  readonly what: string;
  /** Instead of the tone of the severity. */
  readonly tone?: Tone;
  readonly kind: string;
  readonly name: string;
  /** Said before `says`; milliseconds since 1970. */
  readonly until?: { readonly words: "certificate expires in"; readonly at: number };
  /** One line; empty where `until` says it all. Whoever draws it takes controls out. */
  readonly says: string;
  /** Said after it; milliseconds since 1970. */
  readonly ends?: { readonly words: "lifts in" | "resets in"; readonly at: number };
  /** Where Enter goes, and the row that is then under the cursor. */
  readonly goes: { readonly place: Place; readonly row?: string; readonly filter?: string };
  /** What `s` suspends. */
  readonly suspends?: Suspendable;
  /** What `u` lifts and `E` extends. */
  readonly lifts?: Suspendable;
  /** The filter that finds its requests, where requests name it. */
  readonly requests?: string;
  /** As the admin API gives it. */
  readonly json: unknown;
}

export function saying({ until, says, ends }: AttentionItem, now: number): string {
  const timed = (it: AttentionItem["until"] | AttentionItem["ends"]): string =>
    it === undefined ? "" : `${it.words} ${span(it.at - now)}`;
  return [timed(until), says, timed(ends)].filter((words) => words !== "").join(", ");
}

export const acknowledgeableOf = ({ id, kind, name, severity, degree = 1 }: AttentionItem): Acknowledgeable => ({
  name: id,
  label: `${kind} ${name}`,
  severity,
  degree,
});

/** Without the clock: items are made anew when a reading changes, not with each second. */
export type Seen = Omit<Context, "now">;

export interface AttentionSource {
  readonly needs: readonly [Need, ...Need[]];
  /** Nothing of what could not be read. */
  items(context: Seen): readonly AttentionItem[];
}
