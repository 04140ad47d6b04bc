/**
 * Compares metered and reported usage of one day and provider. Source: usage report APIs reference, 4 and 5; specification
 * document 3, `reconcile`; design decisions, section 14.
 */

/** Token classes that are judged. Reasoning is metered but never judged, since no report shows it separately. */
export const TOKEN_CLASSES = ["input", "cached_input", "cache_creation_input", "output"] as const;
export type TokenClass = (typeof TOKEN_CLASSES)[number];

/** Tokens; `input` without what was read from a cache or written to one. */
export type Tokens = Readonly<Record<TokenClass, number>>;

export interface Metered {
  readonly tokens: Tokens;
  /** Answers that ended before they reported usage: the provider bills them, but nothing was metered. */
  readonly unmeasured: number;
}

/** Usage that a provider reports for a day. */
export interface Reported {
  /** Null: the report does not have the class, so it is not compared. */
  readonly tokens: Readonly<Record<TokenClass, number | null>>;
  /** Classes that are included in its `input`. */
  readonly joined: readonly TokenClass[];
}

export const NOTHING_REPORTED: Reported = {
  tokens: { input: 0, cached_input: 0, cache_creation_input: 0, output: 0 },
  joined: [],
};

/** Scope of the report: the whole organization, or some of its keys. */
export type Scope = "organisation" | "keys";

export interface DriftRules {
  readonly driftRatio: number;
  readonly driftFloor: number;
}

export interface Compared {
  readonly class: TokenClass;
  readonly metered: number;
  readonly reported: number;
}

export interface Verdict extends Compared {
  /** Metered without reported. */
  readonly delta: number;
  /** Share of the larger side, 0 to 1; 0 if both are 0. */
  readonly ratio: number;
  readonly breach: boolean;
  /** `over`: more was metered than is reported. */
  readonly direction: "over" | "under" | "equal";
  /** A breach that nothing outside the gateway explains. */
  readonly hard: boolean;
}

/** The classes that both sides know, in the order of `TOKEN_CLASSES`. */
export function compare({ tokens: metered }: Metered, { tokens: reported, joined }: Reported): readonly Compared[] {
  return TOKEN_CLASSES.flatMap((name) => {
    const told = reported[name];
    if (told === null) return [];
    const further = name === "input" ? joined.reduce((sum, of) => sum + metered[of], 0) : 0;
    return { class: name, metered: metered[name] + further, reported: told };
  });
}

/** Whether two numbers are further apart than the rules allow: by more than the ratio, and by the floor at least. */
export function isDrift({ metered, reported }: Pick<Compared, "metered" | "reported">, rules: DriftRules): boolean {
  return ratioOf(metered, reported) > rules.driftRatio && Math.abs(metered - reported) >= rules.driftFloor;
}

export function verdictOf(compared: Compared, breach: boolean, scope: Scope): Verdict {
  const { metered, reported } = compared;
  const direction = metered > reported ? "over" : metered < reported ? "under" : "equal";
  return {
    ...compared,
    delta: metered - reported,
    ratio: ratioOf(metered, reported),
    breach,
    direction,
    // Others may use the organisation too, so that the report may well have more than was metered.
    hard: breach && (scope === "keys" || direction === "over"),
  };
}

function ratioOf(metered: number, reported: number): number {
  const larger = Math.max(metered, reported);
  return larger === 0 ? 0 : Math.abs(metered - reported) / larger;
}
