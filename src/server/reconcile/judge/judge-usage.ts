/**
 * Compares metered and reported usage of one day and provider. Source: usage report APIs reference, 4 and 5; specification
 * document 3, `reconcile`; design decisions, section 14.
 */

/** Token classes that are judged. Reasoning is metered but never judged, since no report shows it separately. */
export const TOKEN_CLASSES = ["input", "cached_input", "cache_creation_input", "output"] as const;
export type TokenClass = (typeof TOKEN_CLASSES)[number];

/** Number of tokens by class; `input` excludes tokens read from or written to a cache. */
export type Tokens = Readonly<Record<TokenClass, number>>;

export interface MeteredUsage {
  readonly tokens: Tokens;
  /** Number of answers that ended before they reported usage: the provider bills them, but nothing was metered. */
  readonly unmeasured: number;
}

/** Usage that a provider reports for a day. */
export interface ReportedUsage {
  /** Number of tokens by class; null if the report does not have the class, which is then not compared. */
  readonly tokens: Readonly<Record<TokenClass, number | null>>;
  /** Classes that are included in the report's `input`. */
  readonly joined: readonly TokenClass[];
}

export const NOTHING_REPORTED: ReportedUsage = {
  tokens: { input: 0, cached_input: 0, cache_creation_input: 0, output: 0 },
  joined: [],
};

/** Scope of the report: the whole organization, or some of its keys. */
export type Scope = "organisation" | "keys";

export interface DriftRules {
  readonly driftRatio: number;
  readonly driftFloor: number;
}

export interface ClassComparison {
  readonly class: TokenClass;
  readonly metered: number;
  readonly reported: number;
}

export interface Verdict extends ClassComparison {
  /** Metered minus reported tokens. */
  readonly delta: number;
  /** Difference as a share of the larger number, 0 to 1; 0 if both are 0. */
  readonly ratio: number;
  readonly breach: boolean;
  /** Direction of the difference: `over` if more was metered than is reported. */
  readonly direction: "over" | "under" | "equal";
  /** True for a breach that traffic outside the gateway cannot explain. */
  readonly hard: boolean;
}

/** Compares the classes that both sides have, in the order of `TOKEN_CLASSES`. */
export function compareUsage(
  { tokens: metered }: MeteredUsage,
  { tokens: reported, joined }: ReportedUsage,
): readonly ClassComparison[] {
  return TOKEN_CLASSES.flatMap((name) => {
    const reportedTokens = reported[name];
    if (reportedTokens === null) return [];
    const further = name === "input" ? joined.reduce((sum, of) => sum + metered[of], 0) : 0;
    return { class: name, metered: metered[name] + further, reported: reportedTokens };
  });
}

/** Returns whether two numbers differ by more than the ratio, and at least by the floor. */
export function isDrift(
  { metered, reported }: Pick<ClassComparison, "metered" | "reported">,
  rules: DriftRules,
): boolean {
  return ratioOf(metered, reported) > rules.driftRatio && Math.abs(metered - reported) >= rules.driftFloor;
}

/** Returns the verdict on one token class of a day. */
export function verdictOf(compared: ClassComparison, breach: boolean, scope: Scope): Verdict {
  const { metered, reported } = compared;
  const direction = metered > reported ? "over" : metered < reported ? "under" : "equal";
  return {
    ...compared,
    delta: metered - reported,
    ratio: ratioOf(metered, reported),
    breach,
    direction,
    // Others may use the organization too, so its report may exceed what was metered.
    hard: breach && (scope === "keys" || direction === "over"),
  };
}

function ratioOf(metered: number, reported: number): number {
  const larger = Math.max(metered, reported);
  return larger === 0 ? 0 : Math.abs(metered - reported) / larger;
}
