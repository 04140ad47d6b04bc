/** Recognizers of identifiers of Canada and Brazil. Source: guardrails reference, 1.3. */

import { isCnpj, isCpf, isLuhn } from "../../../core/guardrails/index.ts";
import { BY_CONTEXT, keeps, national, proves, shape } from "./recognizer-rows.ts";

const isSin = (value: string): boolean => /^[1-79]/.test(value) && isLuhn(value);

export const AMERICAS = [
  national(
    "CaSin",
    "CA_SIN",
    ["sin", "social insurance", "nas", "assurance sociale", "canada", "canadian"],
    shape("3-3-3", BY_CONTEXT, "d3-d3-d3", keeps(isSin)),
    shape("bare", 0.2, "d9", keeps(isSin)),
  ),
  national(
    "BrCpf",
    "BR_CPF",
    ["cpf", "cadastro de pessoa", "pessoa física", "contribuinte"],
    shape(
      "3.3.3-2",
      0.5,
      "d3-d3-d3-d2",
      // Four groups that are separated by dots only are taken for an IP address.
      (value, written) => isCpf(value) && !/^[\d.]+$/.test(written),
      { separators: ".- ", mayMixSeparators: true },
    ),
    shape("bare", BY_CONTEXT, "d11", keeps(isCpf)),
  ),
  national(
    "BrCnpj",
    "BR_CNPJ",
    ["cnpj", "cadastro nacional", "pessoa jurídica", "empresa"],
    shape("2.3.3/4-2", 0.5, "x2-x3-x3-x4-d2", proves(isCnpj), { separators: "./-", mayMixSeparators: true }),
    shape("bare", BY_CONTEXT, "x12d2", keeps(isCnpj)),
  ),
];
