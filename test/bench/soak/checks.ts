/**
 * Decisions of the soak, pure: whether anything grew, and whether the counts of client, gateway and simulator agree.
 * The gateway counts every request that a client began once; the simulator counts every one that reached the upstream
 * under the name of its kind, and in the end as answered, aborted or dropped.
 */

import { median, type Point, slope } from "../statistics.ts";
import { type ClientKind, modelOf } from "./clients.ts";
import { type Series, sumOf } from "./metrics.ts";

/** The used part of the simulator's `GET /sim/counts`. */
export interface SimulatorCounts {
  readonly requests: number;
  readonly answered: number;
  readonly aborted: number;
  readonly dropped: number;
  readonly byModel: Readonly<Record<string, number>>;
}

export interface Check {
  readonly name: string;
  readonly isGood: boolean;
  readonly detail: string;
}

export interface KindCount {
  readonly kind: ClientKind;
  readonly sent: number;
  readonly surprised: number;
  readonly surprises: readonly string[];
}

/** After an idle phase pools fill again, and the heap follows; growth is judged from here on. */
const SETTLING_SHARE = 1 / 4;

interface GrowthBounds {
  readonly name: string;
  readonly unit: string;
  /** Maximum rise of the fitted line from the settled point to the last sample, in `unit`. */
  readonly maxRise: number;
}

/** `x` in seconds. */
export function checkGrowth(points: readonly Point[], bounds: GrowthBounds): Check {
  const last = points.at(-1)?.x ?? 0;
  const first = points[0]?.x ?? 0;
  const judged = points.filter(({ x }) => x >= first + (last - first) * SETTLING_SHARE);
  const rise = slope(judged) * (last - (judged[0]?.x ?? last));
  const level = median(judged.map(({ y }) => y));
  return {
    name: `${bounds.name} does not grow`,
    isGood: rise <= bounds.maxRise,
    detail: `median ${level.toFixed(1)} ${bounds.unit}, rises ${rise.toFixed(2)} over the run (at most ${bounds.maxRise})`,
  };
}

export function checkEqual(name: string, found: number, expected: number): Check {
  return { name, isGood: found === expected, detail: `${found}, expected ${expected}` };
}

export function checkAtMost(name: string, found: number, most: number): Check {
  return { name, isGood: found <= most, detail: `${found}, at most ${most}` };
}

export function reconcile(kinds: readonly KindCount[], gateway: readonly Series[], upstream: SimulatorCounts): Check[] {
  const total = (wanted: (kind: ClientKind) => boolean): number =>
    kinds.filter(({ kind }) => wanted(kind)).reduce((sum, { sent }) => sum + sent, 0);
  const forwarded = total(({ endsAs }) => endsAs !== "unseen");
  const byKind = kinds
    .filter(({ kind, sent }) => (upstream.byModel[modelOf(kind)] ?? 0) !== (kind.endsAs === "unseen" ? 0 : sent))
    .map(({ kind, sent }) => `${kind.name} ${upstream.byModel[modelOf(kind)] ?? 0} of ${sent}`);
  const everySent = total(() => true);
  return [
    checkEqual(
      "gateway_requests_total counts every request of the clients",
      sumOf(gateway, "gateway_requests_total"),
      everySent,
    ),
    checkEqual(
      "gateway_upstream_attempts_total counts every one forwarded",
      sumOf(gateway, "gateway_upstream_attempts_total"),
      forwarded,
    ),
    {
      name: "the simulator saw each kind's requests, each once",
      isGood: byKind.length === 0,
      detail: byKind.join("; ") || `${forwarded}`,
    },
    checkEqual(
      "the simulator answered",
      upstream.answered,
      total(({ endsAs }) => endsAs === "answered"),
    ),
    checkEqual(
      "the simulator was left by its client",
      upstream.aborted,
      total(({ endsAs }) => endsAs === "aborted"),
    ),
    checkEqual(
      "the simulator dropped",
      upstream.dropped,
      total(({ endsAs }) => endsAs === "dropped"),
    ),
    ...kinds
      .filter(({ surprised }) => surprised > 0)
      .map(({ kind, sent, surprised, surprises }) => ({
        name: `${kind.name} went as expected`,
        isGood: false,
        detail: `${surprised} of ${sent} did not: ${surprises.join("; ")}`,
      })),
  ];
}
