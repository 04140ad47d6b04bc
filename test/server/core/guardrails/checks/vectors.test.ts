/** Every check algorithm with valid values and with values of which one character is changed. */

import assert from "node:assert/strict";
import { test } from "node:test";
import * as checks from "../../../../../src/server/core/guardrails/checks/index.ts";
import { TABLE } from "./values.ts";

type Check = (value: string) => boolean;

const CHECKS: Readonly<Record<string, Check>> = {
  luhn: checks.isLuhn,
  verhoeff: checks.isVerhoeff,
  iso7064_mod11_10: checks.isMod11And10,
  iban: checks.isIbanSum,
  crc32_base62: (value) => checks.isCrc32Base62(value.slice(4)),
  weighted_aba: checks.isAbaRouting,
  weighted_tfn: checks.isTfn,
  weighted_pesel: checks.isPesel,
  weighted_nhs: checks.isNhs,
  weighted_bsn: checks.isBsn,
  us_npi: checks.isNpi,
  us_dea: checks.isDea,
  au_abn: checks.isAbn,
  au_acn: checks.isAcn,
  es_nif: checks.isNif,
  es_nie: checks.isNie,
  it_fiscal_code: checks.isCodiceFiscale,
  it_vat: checks.isPartitaIva,
  sg_nric: checks.isNric,
  sg_uen_a: checks.isUen,
  in_aadhaar: checks.isAadhaar,
  in_gstin: checks.isGstin,
  fi_hetu: checks.isHetu,
  kr_rrn: checks.isRrn,
  kr_brn: checks.isKoreanBrn,
  th_tnin: checks.isThaiId,
  tr_tckn: checks.isTckn,
  de_tax_id: checks.isSteuerId,
  de_vat: checks.isGermanVat,
  de_kvnr: checks.isKvnr,
  de_rvnr: checks.isRvnr,
  icao9: checks.isIcao,
  fr_nir: checks.isNir,
  br_cpf: checks.isCpf,
  br_cnpj: checks.isCnpj,
  br_cnpj_alnum: checks.isCnpj,
  za_id: checks.isZaId,
  sa_national_id: checks.isSaudiId,
  ae_emirates_id: checks.isEmiratesId,
  kw_civil_id: checks.isKuwaitId,
  btc_base58check: (value) => checks.base58CheckVersion(value) !== undefined,
  btc_bech32: checks.isBech32,
};

test("every algorithm of the table is here", () => {
  assert.deepEqual(Object.keys(TABLE).sort(), Object.keys(CHECKS).sort());
});

for (const [name, check] of Object.entries(CHECKS)) {
  test(`${name} accepts valid values and nothing that is one character off`, () => {
    const { valid, invalid } = TABLE[name] ?? assert.fail(name);
    assert.deepEqual(
      valid.filter((value) => !check(value)),
      [],
    );
    assert.deepEqual(invalid.filter(check), []);
    assert.equal(check(""), false);
  });
}

test("examples of standards and agencies are valid", () => {
  assert.ok(checks.isAuMedicare("2123456701"));
  assert.ok(checks.isFrn("9710139019904"));
  assert.ok(checks.isPhTin("123456782"));
  assert.equal(checks.base58CheckVersion("1BoatSLRHtKNngkdXEeobR76b53LETtpyT"), 0);
  assert.ok(checks.isSiret("35600000000048"));
  assert.ok(checks.isFrenchNif("0000000001001"));
});
