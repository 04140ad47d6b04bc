/**
 * What was metered against what is reported, of one day and one provider. Source: usage report APIs reference, 4 and 5;
 * specification document 3, `reconcile`; design decisions, section 14.
 */

/** Reasoning is metered too and never judged: no report has it by itself. */
export const TOKEN_CLASSES = ["input", "cached_input", "cache_creation_input", "output"] as const;
export type TokenClass = (typeof TOKEN_CLASSES)[number];

/** Tokens; `input` without what was read from a cache or written to one. */
export type Tokens = Readonly<Record<TokenClass, number>>;

export interface Metered {
  readonly tokens: Tokens;
  /** Answers that ended before they told their usage: the provider bills them, and nothing of them was counted. */
  readonly unmeasured: number;
}

/** What a provider reports of a day. */
export interface Reported {
  /** Null: the report does not have the class, so it is not compared. */
  readonly tokens: Readonly<Record<TokenClass, number | null>>;
  /** Classes that its `input` cannot be told apart from. */
  readonly joined: readonly TokenClass[];
}

export const NOTHING_REPORTED: Reported = {
  tokens: { input: 0, cached_input: 0, cache_creation_input: 0, output: 0 },
  joined: [],
};

/** Of what the report is: of all that the organisation did, or of some of its keys. */
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
  /** Of the larger side, 0 to 1; 0 where both are 0. */
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
