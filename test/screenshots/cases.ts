/** Labeled texts for the picture of a sweep. Scores vary from one text to the next, so that the figures differ. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";

export const CASES = "cases.jsonl";

type Mark = readonly [found: string, type: string];

const TEXTS: readonly (readonly [text: string, ...marks: readonly Mark[]])[] = [
  ["Please write to ada@example.com today.", ["ada@example.com", "EMAIL_ADDRESS"]],
  ["The invoice is of 12/31/1999.", ["12/31/1999", "DATE_TIME"]],
  ["Release 01/02/2003 of the library is out."],
  ["Call me at 212-555-0147.", ["212-555-0147", "PHONE_NUMBER"]],
  ["Order number 212-555-0199 has shipped."],
  ["The card is 4111 1111 1111 1111.", ["4111 1111 1111 1111", "CREDIT_CARD"]],
  ["It came from 10.2.3.4.", ["10.2.3.4", "IP_ADDRESS"]],
  ["Version 10.2.3.4 fixes it."],
  ["My social security number is 078-05-1120.", ["078-05-1120", "US_SSN"]],
  ["Part 078-05-1121 is out of stock."],
  ["Look at https://example.com/a.", ["https://example.com/a", "URL"]],
  ["Bob's account is DE89370400440532013000.", ["DE89370400440532013000", "IBAN_CODE"]],
];

export async function writeCases(folder: string): Promise<void> {
  const rows = TEXTS.map(([text, ...marks]) => ({
    text,
    spans: marks.map(([found, type]) => ({
      start: text.indexOf(found),
      end: text.indexOf(found) + found.length,
      type,
    })),
  }));
  const all = Array.from({ length: 20 }, () => rows).flat();
  await writeFile(join(folder, CASES), all.map((row) => `${JSON.stringify(row)}\n`).join(""));
}
