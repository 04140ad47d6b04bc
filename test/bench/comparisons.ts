/** Gateway compared with gateway: many keys with one, translated with passed bytes, ours with Portkey's. Pure. */

import type { ForeignName } from "./parts/foreign.ts";
import { type Judged, judge } from "./report.ts";
import type { Measured } from "./rounds.ts";
import { type LoadScenario, MAX_MANY_KEYS_RATIO } from "./scenarios.ts";
import { type Summary, summarize } from "./statistics.ts";

const FOREIGN_NAMES: readonly ForeignName[] = ["portkey", "litellm"];

const UNJUDGED = { target: "", verdict: "" } as const;

export function compare(
  {
    maxPortkeyShare,
    maxTranslatedRatio,
    maxSignedRatio,
    maxGuardedRatio,
  }: Pick<LoadScenario, "maxPortkeyShare" | "maxTranslatedRatio" | "maxSignedRatio" | "maxGuardedRatio">,
  measured: readonly Measured[],
): readonly Judged[] {
  const of = (name: Measured["name"]): Measured | undefined => measured.find((row) => row.name === name);
  const [own, many, bytes] = [of("gateway"), of("many keys"), of("bytes")];
  const governed = of("governed");
  const otherBuild = of("other build");
  if (own === undefined) return [];
  const rows: Judged[] = [];
  if (many !== undefined) {
    const ratio = ratioOf(many, own);
    // Rounds that differ by more than the allowance are inconclusive: their spread decides whether the two are equal.
    const isSame = ratio.median <= MAX_MANY_KEYS_RATIO || ratio.least <= 1;
    const name = "CPU per request, many keys over one";
    const target = MAX_MANY_KEYS_RATIO.toFixed(2);
    rows.push({ ...shown(name, ratio, 2), target, verdict: isSame ? "pass" : "MISS" });
  }
  if (bytes !== undefined) {
    const ratio = ratioOf(own, bytes);
    const what = maxSignedRatio === undefined ? "translated over bytes" : "signed over a static key";
    const most = maxSignedRatio ?? maxTranslatedRatio;
    const row = shown(`CPU per request, ${what}`, ratio, 2);
    rows.push({ ...row, target: most?.toFixed(2) ?? "", verdict: judge(ratio.median, most) });
    rows.push(later("median answer, later than bytes", own.addedP50Us, bytes.addedP50Us));
    rows.push(later("median first byte, later than bytes", own.addedFirstUs, bytes.addedFirstUs));
  }
  if (governed !== undefined) {
    const ratio = ratioOf(own, governed);
    const row = shown("CPU per request, guarded over governed", ratio, 2);
    rows.push({ ...row, target: maxGuardedRatio?.toFixed(2) ?? "", verdict: judge(ratio.median, maxGuardedRatio) });
    rows.push(moreThan("CPU per request, guarded more than governed", own, governed));
  }
  if (otherBuild !== undefined) {
    rows.push({ ...shown("CPU per request, this build over the other", ratioOf(own, otherBuild), 3), ...UNJUDGED });
    rows.push(moreThan("CPU per request, this build more than the other", own, otherBuild));
  }
  for (const name of FOREIGN_NAMES) {
    const foreign = of(name);
    if (foreign === undefined) continue;
    const ratio = ratioOf(own, foreign);
    const most = name === "portkey" ? maxPortkeyShare : undefined;
    const row = shown(`CPU per request, gateway over ${name}`, ratio, 3);
    rows.push({ ...row, target: most?.toFixed(3) ?? "", verdict: judge(ratio.median, most) });
  }
  return rows;
}

function later(name: string, own: Summary, bytes: Summary): Judged {
  const value = `${(own.median - bytes.median).toFixed(0)} us`;
  return { name, value, target: "", verdict: "", detail: `bytes ${bytes.least.toFixed(0)}-${bytes.most.toFixed(0)}` };
}

function moreThan(name: string, own: Measured, other: Measured): Judged {
  const { median, least, most } = summarize(
    own.cpuUsOfRounds.map((us, round) => us - (other.cpuUsOfRounds[round] ?? Number.NaN)),
  );
  return {
    name,
    value: `${median.toFixed(0)} us`,
    target: "",
    verdict: "",
    detail: `${least.toFixed(0)}-${most.toFixed(0)}`,
  };
}

/** Computed within each round, like all ratios of the bench. */
function ratioOf(one: Measured, other: Measured): Summary {
  return summarize(one.cpuUsOfRounds.map((us, round) => us / (other.cpuUsOfRounds[round] ?? Number.NaN)));
}

function shown(name: string, { median, least, most }: Summary, digits: number): Omit<Judged, "target" | "verdict"> {
  return { name, value: median.toFixed(digits), detail: `${least.toFixed(digits)}-${most.toFixed(digits)}` };
}
