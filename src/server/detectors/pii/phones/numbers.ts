/** Checks whether digits are a telephone number of a plan. Source: guardrails reference, 1.6; ITU-T E.164. */

import { PLANS } from "./plans.ts";

/** Maximum number of digits, without dialing prefixes. Source: ITU-T E.164, 6.2. */
export const MAX_DIGITS = 15;
const MIN_DIGITS = 7;

interface Plan {
  readonly region: string;
  readonly country: string;
  readonly trunk: string;
  readonly lengths: ReadonlySet<number>;
  readonly form: RegExp;
}

const plans: readonly Plan[] = PLANS.map((line) => {
  const [region = "", country = "", trunk = "", lengths = "", form = ""] = line.split(" ");
  return {
    region,
    country,
    trunk: trunk === "-" ? "" : trunk,
    lengths: new Set(lengths.split(",").map(Number)),
    form: new RegExp(`^(?:${form})$`),
  };
});

const byCountry = new Map<string, Plan[]>();
for (const plan of plans) byCountry.set(plan.country, [...(byCountry.get(plan.country) ?? []), plan]);

export const PHONE_REGIONS: readonly string[] = plans.map(({ region }) => region).filter((region) => region !== "001");

/** Regions whose national numbers are found by default: Presidio's eight, and the six of the Gulf. */
export const DEFAULT_PHONE_REGIONS: readonly string[] = [
  ...["US", "GB", "DE", "FR", "IL", "IN", "CA", "BR"],
  ...["SA", "AE", "QA", "KW", "BH", "OM"],
];

/**
 * Returns whether digits are an international number. They begin with a country code of one to three digits; a trunk
 * prefix after it, `(0)`, is skipped.
 */
export function isInternational(digits: string): boolean {
  for (let length = 1; length <= 3; length += 1) {
    const group = byCountry.get(digits.slice(0, length));
    if (group === undefined) continue;
    const national = digits.slice(length);
    return group.some(
      (plan) => isOf(plan, national) || (plan.trunk === "0" && isOf(plan, withoutTrunk(plan, national))),
    );
  }
  return false;
}

/** Regions in which numbers are also written without the trunk prefix. */
const FREE = new Set(["IN", "BR"]);
/** Prefixes of toll-free and premium services, which have no trunk prefix: 800, 1800, 920. */
const SERVICES = /^(?:1?[6-9]00|92)/;

/** Returns a test of digits as dialed within one of the regions. */
export function nationalTest(regions: readonly string[]): (digits: string) => boolean {
  const chosen = plans.filter(({ region }) => regions.includes(region));
  return (digits) => chosen.some((plan) => isDialed(plan, digits));
}

function isDialed(plan: Plan, digits: string): boolean {
  if (digits.length < MIN_DIGITS) return false;
  if (plan.trunk === "") return isOf(plan, digits);
  if (digits.startsWith(plan.trunk) && isOf(plan, withoutTrunk(plan, digits))) return true;
  const isFree = plan.trunk !== "0" || FREE.has(plan.region) || SERVICES.test(digits);
  return isFree && isOf(plan, digits);
}

function withoutTrunk({ trunk }: Plan, digits: string): string {
  return digits.startsWith(trunk) ? digits.slice(trunk.length) : digits;
}

function isOf({ lengths, form }: Plan, national: string): boolean {
  return lengths.has(national.length) && form.test(national);
}
