/** Compiles the operator of a redact rule. Source: document 3, `guardrails.rules[]`; guardrails reference, 2.6 and 4.5. */

import type { FormatOf, GuardrailRule, Guardrails, IssuedValues, Rewriting } from "../../index.ts";
import { alphabetOf } from "./alphabets.ts";
import { createFpe, type Fpe } from "./fpe.ts";
import { mask } from "./mask.ts";
import { normalizeValue } from "./normalize-value.ts";
import { hashForm, placeholderForm, pseudonymForm, typeForm } from "./replacement-forms.ts";

/** Keys and alphabets that operators share. */
export interface OperatorKeys {
  readonly pseudonym: Buffer | undefined;
  readonly fpe: Fpe | undefined;
  /** Values that `fpe` wrote recently. */
  readonly issued: IssuedValues | undefined;
  readonly alphabets: NonNullable<Guardrails["fpe_alphabets"]>;
}

type KeyedGuardrails = Pick<Guardrails, "pseudonym_key" | "fpe_key" | "fpe_tweak" | "fpe_alphabets">;

export function operatorKeys(guardrails: KeyedGuardrails, formatOf?: FormatOf, issued?: IssuedValues): OperatorKeys {
  const { pseudonym_key, fpe_key, fpe_tweak = "", fpe_alphabets = {} } = guardrails;
  return {
    pseudonym: pseudonym_key ? Buffer.from(pseudonym_key, "hex") : undefined,
    fpe: fpe_key ? createFpe(Buffer.from(fpe_key, "hex"), fpe_tweak, formatOf) : undefined,
    alphabets: fpe_alphabets,
    issued,
  };
}

/** Replacement of a value. `isDomainTooSmall` is true if `fpe` could not keep its format. */
interface Replacement {
  readonly text: string;
  readonly isDomainTooSmall: boolean;
}

/** Rewrites a value. `label` is the annotation's label without the category, `text` the value as written. */
export type Operator = (label: string, text: string, rewriting: Rewriting) => Replacement;

export function compileOperator(rule: GuardrailRule, keys: OperatorKeys): Operator {
  const plainOperator =
    (write: (label: string, text: string, rewriting: Rewriting) => string): Operator =>
    (label, text, rewriting) => ({ text: write(label, text, rewriting), isDomainTooSmall: false });
  const { pseudonym: key } = keys;
  const pseudonymOrType = (label: string, text: string): string =>
    key === undefined ? typeForm(label) : pseudonymForm(label, normalizeValue(label, text), key);
  switch (rule.operator) {
    case "redact":
      return plainOperator(() => "");
    case "mask": {
      const how = { character: rule.mask_char, count: rule.mask_chars, fromEnd: rule.from_end };
      return plainOperator((_, text) => mask(text, how));
    }
    case "hash":
      return plainOperator((label, text) => hashForm(label, normalizeValue(label, text), key));
    case "placeholder":
      return plainOperator((label, text, rewriting) =>
        placeholderForm(label, rewriting.numberOf(label, normalizeValue(label, text))),
      );
    case "pseudonym":
      return plainOperator(pseudonymOrType);
    case "fpe":
      return (label, text) => {
        const alphabet = alphabetOf(label, keys.alphabets);
        const encrypted = alphabet && keys.fpe?.encrypt(label, alphabet, text);
        if (encrypted !== undefined && alphabet !== undefined) {
          keys.issued?.add(label, encrypted, keys.fpe?.sizeOf(label, alphabet, encrypted) ?? 0);
        }
        return { text: encrypted ?? pseudonymOrType(label, text), isDomainTooSmall: encrypted === undefined };
      };
    default:
      return plainOperator((label) => rule.replacement ?? typeForm(label));
  }
}
