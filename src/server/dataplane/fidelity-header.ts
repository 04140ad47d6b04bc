/** Formats the header `x-gateway-fidelity-losses`. */
import type { Loss } from "../core/dialects/index.ts";

/** Writes a loss as a list item with a parameter (RFC 9651). Places contain neither quotes nor backslashes. */
export const lossItem = ({ capability, place }: Loss): string =>
  place === undefined || place === "" ? capability : `${capability};field="${place}"`;
