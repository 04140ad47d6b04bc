/** Validators of custom recognizers. Source: specification document 3, `custom_recognizers[]`, `validator`. */

import type { DetectorConfig } from "../../../core/config/index.ts";
import {
  isCrc32Base62,
  isIbanSum,
  isIso7064,
  isLuhn,
  isMod11And10,
  isVerhoeff,
  isWeighted,
} from "../../../core/guardrails/index.ts";

export type CustomRecognizer = NonNullable<DetectorConfig["custom_recognizers"]>[number];
type Validator = NonNullable<CustomRecognizer["validator"]>;

/** Returns the check of a validator. The configuration was validated, so it has every key that its kind needs. */
export function validatorOf(validator: Validator): (value: string) => boolean {
  const strip = new Set(validator.strip ?? "");
  const check = checkOf(validator);
  return (value) => check(strip.size === 0 ? value : [...value].filter((character) => !strip.has(character)).join(""));
}

function checkOf({ kind, mod, weights = [], modulus = 2, prefix = "", sum_len: sumLength = 6 }: Validator) {
  switch (kind) {
    case "luhn":
      return (value: string) => value.length > 1 && isLuhn(value);
    case "verhoeff":
      return (value: string) => value.length > 1 && isVerhoeff(value);
    case "iso7064":
      return mod === undefined || mod === "11-10"
        ? (value: string) => value.length > 1 && isMod11And10(value)
        : (value: string) => isIso7064(value.toUpperCase(), mod);
    case "iban":
      return (value: string) => isIbanSum(value.toUpperCase());
    case "weighted":
      return (value: string) => isWeighted(value, weights, modulus);
    case "crc32_base62":
      return (value: string) =>
        value.startsWith(prefix) &&
        value.length > prefix.length + sumLength &&
        isCrc32Base62(value.slice(prefix.length), sumLength);
  }
}
