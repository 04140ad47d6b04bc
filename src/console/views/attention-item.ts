/** Alerts and their sources, one source per kind. */

import type { Acknowledgeable } from "../actions/acknowledgement-dialogs.ts";
import type { Suspendable } from "../actions/suspension-text.ts";
import { humanDuration } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import type { Need } from "../model/data.ts";
import type { Tone } from "../model/text.ts";
import type { Place } from "../model/view.ts";

/**
 * Severity of an alert. `fail`: traffic or state is being lost. `warn`: it will be, or an operator has to decide. `note`:
 * information.
 */
export type Severity = "fail" | "warn" | "note";

export const SEVERITIES: Readonly<Record<Severity, { rank: number; mark: string; tone: Tone }>> = {
  fail: { rank: 0, mark: "!", tone: "fail" },
  warn: { rank: 1, mark: "~", tone: "warn" },
  note: { rank: 2, mark: ".", tone: "plain" },
};

export interface AttentionItem {
  /** Unique and permanent id: `provider:acme-chat`. */
  readonly id: string;
  readonly severity: Severity;
  /** Order within a severity, larger first: 0 to 1, such as the share of failures. */
  readonly weight: number;
  /**
   * Number of things that the alert concerns, or another integer that grows as it gets worse within its severity; default 1. An
   * acknowledged alert is shown again if it exceeds the acknowledged value.
   */
  readonly degree?: number;
  /** Start time if known, in milliseconds since 1970. An alert that began after the acknowledgement is a different one. */
  readonly since?: number;
  /** State in at most seven characters: `FAIL`, `SUSP`. */
  readonly what: string;
  /** Replaces the tone of the severity. */
  readonly tone?: Tone;
  readonly kind: string;
  readonly name: string;
  /** Time that is shown before `text`, in milliseconds since 1970. */
  readonly until?: { readonly label: "certificate expires in"; readonly at: number };
  /** One line; empty if `until` has all of it. Control characters are removed when it is drawn. */
  readonly text: string;
  /** Time that is shown after `text`, in milliseconds since 1970. */
  readonly ends?: { readonly label: "lifts in" | "resets in"; readonly at: number };
  /** Target of Enter, and the row that the cursor is then on. */
  readonly target: { readonly place: Place; readonly row?: string; readonly filter?: string };
  /** Subject that `s` suspends. */
  readonly suspends?: Suspendable;
  /** Subject that `u` lifts and `E` extends. */
  readonly lifts?: Suspendable;
  /** Filter that finds the requests of the alert's subject; missing if requests do not name it. */
  readonly requests?: string;
  /** Rows behind the alert, as the admin API returned them. */
  readonly json: unknown;
}

export function alertText({ until, text, ends }: AttentionItem, now: number): string {
  const timed = (it: AttentionItem["until"] | AttentionItem["ends"]): string =>
    it === undefined ? "" : `${it.label} ${humanDuration(it.at - now)}`;
  return [timed(until), text, timed(ends)].filter((text) => text !== "").join(", ");
}

export const acknowledgeableOf = ({ id, kind, name, severity, degree = 1 }: AttentionItem): Acknowledgeable => ({
  name: id,
  label: `${kind} ${name}`,
  severity,
  degree,
});

/** Context without the clock: alerts are recomputed when a reading changes, not each second. */
export type Seen = Omit<Context, "now">;

export interface AttentionSource {
  readonly needs: readonly [Need, ...Need[]];
  /** Returns the alerts. Readings that are missing produce none. */
  items(context: Seen): readonly AttentionItem[];
}
