/** Recognizers of identifiers of other European countries. Source: guardrails reference, 1.3. */

import {
  isBsn,
  isCodiceFiscale,
  isFrenchNif,
  isHetu,
  isNie,
  isNif,
  isNir,
  isOrganisationsnummer,
  isPartitaIva,
  isPersonnummer,
  isPesel,
  isSiren,
  isSiret,
  isTckn,
} from "../../../core/guardrails/index.ts";
import { BY_CONTEXT, capital, keeps, like, national, proves, shape } from "./recognizer-rows.ts";

const NIR = /^[1-478]\d\d(?:0[1-9]|1[0-2]|20|3\d|4[0-2]|[5-9]\d)(?:0[1-9]|[1-8]\d|9[0-5]|2[AB]|9[789])\d{3}\d{3}\d\d$/;
const isFrenchNumber = (value: string): boolean => NIR.test(value) && isNir(value);

/** Checks a Finnish number, in which the century sign is part of the value, whatever the separator is. */
const hetu = (_: string, written: string): boolean => isHetu(written.toUpperCase());

export const EUROPE = [
  national(
    "EsNif",
    "ES_NIF",
    ["dni", "nif", "documento nacional de identidad", "identificación fiscal", "identificación"],
    shape("digits and letter", 0.5, "d7L1 d8L1 d7-L1 d8-L1", proves(isNif), { separators: "-" }),
  ),
  national(
    "EsNie",
    "ES_NIE",
    ["nie", "identificación de extranjero", "extranjero"],
    shape("letter, digits, letter", 0.5, "L1d7L1 L1d7-L1 L1-d7-L1", proves(isNie), { separators: "-" }),
  ),
  national("EsPassport", "ES_PASSPORT", ["pasaporte", "passport"], shape("letters and digits", 0.05, "L3d6")),
  national(
    "ItFiscalCode",
    "IT_FISCAL_CODE",
    ["codice fiscale", "cf", "cod fisc"],
    shape("16", 0.3, "L6x2L1x2L1x3L1 L3-L3-x2L1x2-L1x3L1", proves(isCodiceFiscale)),
  ),
  national(
    "ItVatCode",
    "IT_VAT_CODE",
    ["piva", "partita iva", "p iva", "pi"],
    shape("11", BY_CONTEXT, "d11 d3-d4-d4", keeps(isPartitaIva), { separators: " _" }),
  ),
  national(
    "ItDriverLicense",
    "IT_DRIVER_LICENSE",
    ["patente", "patente di guida", "licenza"],
    shape("letters and digits", 0.2, "L2d7L1"),
    shape("U1", 0.2, "L1d1x7L1", like(/^U1/)),
  ),
  national("ItPassport", "IT_PASSPORT", ["passaporto", "viaggio", "dogana"], shape("letters and digits", 0.01, "L2d7")),
  national(
    "ItIdentityCard",
    "IT_IDENTITY_CARD",
    ["carta d'identità", "carta", "identità", "cie", "documento"],
    shape("letters and digits", 0.01, "L2d7 d7L2 L2d5L2"),
  ),
  national(
    "PlPesel",
    "PL_PESEL",
    ["pesel", "numer ewidencyjny", "ewidencyjny"],
    shape("bare", BY_CONTEXT, "d11", keeps(isPesel)),
  ),
  national(
    "FiPersonalIdentityCode",
    "FI_PERSONAL_IDENTITY_CODE",
    ["hetu", "henkilötunnus", "henkilotunnus", "personbeteckning", "personal identity code"],
    shape("with a sign", 0.5, "d6-d3x1", hetu, { separators: "-+" }),
    shape("with a letter", 0.5, "d6L1d3x1", hetu),
  ),
  national(
    "SePersonnummer",
    "SE_PERSONNUMMER",
    ["personnummer", "samordningsnummer", "personal identity number", "personnr"],
    shape("with a sign", 0.5, "d6-d4 d8-d4", proves(isPersonnummer), { separators: "-+" }),
    shape("bare", BY_CONTEXT, "d10 d12", keeps(isPersonnummer)),
  ),
  national(
    "SeOrganisationsnummer",
    "SE_ORGANISATIONSNUMMER",
    ["organisationsnummer", "orgnr", "org-nr", "organization number"],
    shape("with a hyphen", BY_CONTEXT, "d6-d4", keeps(isOrganisationsnummer), { separators: "-" }),
    shape("bare", 0.2, "d10", keeps(isOrganisationsnummer)),
  ),
  national(
    "FrNir",
    "FR_NIR",
    ["nir", "sécurité sociale", "securite sociale", "insee", "numéro de sécu", "carte vitale"],
    shape("bare", 0.4, "d15 d5x2d8 d13-d2 d5x2d6-d2", proves(isFrenchNumber)),
    shape("in groups", 0.4, "d1-d2-d2-x2-d3-d3-d2 d1-d2-d2-x2-d3-d3d2", proves(isFrenchNumber), {
      separators: " .-",
      mayMixSeparators: true,
    }),
  ),
  national(
    "FrNif",
    "FR_NIF",
    ["numéro fiscal", "numero fiscal", "spi", "référence fiscale", "identifiant fiscal"],
    shape(
      "13",
      BY_CONTEXT,
      "d13 d2-d2-d3-d3-d3",
      keeps((value) => /^[0-3]/.test(value) && isFrenchNif(value)),
    ),
  ),
  national("FrSiren", "FR_SIREN", ["siren", "numéro siren", "rcs"], shape("9", 0.3, "d9 d3-d3-d3", keeps(isSiren))),
  national(
    "FrSiret",
    "FR_SIRET",
    ["siret", "établissement", "numéro siret"],
    shape("14", 0.3, "d14 d3-d3-d3-d5", keeps(isSiret)),
  ),
  national(
    "NlBsn",
    "NL_BSN",
    ["bsn", "burgerservicenummer", "sofinummer", "burger service nummer"],
    shape("bare", 0.3, "d8 d9 d4-d2-d3 d3-d3-d3", keeps(isBsn), { separators: " .-" }),
  ),
  national(
    "TrNationalId",
    "TR_NATIONAL_ID",
    ["tc kimlik", "tckn", "kimlik no", "kimlik numarası", "t.c. kimlik", "kimlik"],
    shape("bare", BY_CONTEXT, "d11", keeps(isTckn)),
  ),
  national(
    "TrLicensePlate",
    "TR_LICENSE_PLATE",
    ["plaka", "plakalı", "araç"],
    shape(
      "province, letters, digits",
      0.3,
      "d2-L1-d4 d2-L2-d3 d2-L2-d4 d2-L3-d2 d2-L3-d3 d2L1d4 d2L2d3 d2L2d4 d2L3d2 d2L3d3",
      capital(like(/^(?:0[1-9]|[1-7]\d|8[01])[A-PR-VYZ]+\d+$/)),
    ),
  ),
];
