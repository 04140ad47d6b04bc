/**
 * Format of one kind of row. A value is one schema character, now always `1`, and JSON with a fixed order of fields. Parts of
 * keys contain no slash, so that a prefix that ends in one is exact.
 */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { Malformed, type Parser, type Shape, shapeOf } from "./fields.ts";

const SCHEMA = "1";

export interface RowFormat<T> {
  /** Writes a value as `read` returns it, in the declared order of fields. Throws `Malformed` on what `read` would refuse. */
  write(row: T): string;
  /** Reads a value. Throws `Malformed`: only commands write rows, so an invalid one is a bug or a disk fault. */
  read(value: string): T;
  shape(): Shape;
}

export function rowFormat<T>(parser: Parser<T>): RowFormat<T> {
  return {
    shape: () => shapeOf(parser),
    write: (row) => SCHEMA + JSON.stringify(parser(row)),
    read(value) {
      if (!value.startsWith(SCHEMA)) throw new Malformed("a row of an unknown schema");
      let json: unknown;
      try {
        json = JSON.parse(value.slice(SCHEMA.length));
      } catch {
        throw new Malformed("a row that is not JSON");
      }
      return parser(json);
    },
  };
}

/** Maximum length of an unchanged part; a longer one is cut and made unique by its digest. */
const MAX_PART = 160;

/** Encodes a name as part of a row's key: letters, digits and `._:@-` unchanged, every other byte of its UTF-8 as `%XX`. */
export function keyPart(name: string): string {
  if (/^[A-Za-z0-9._:@-]{1,160}$/.test(name)) return name;
  let part = "";
  for (const byte of Buffer.from(name, "utf8")) {
    const character = String.fromCharCode(byte);
    part += /[A-Za-z0-9._:@-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  if (part.length <= MAX_PART) return part;
  const digest = hash("sha256", name, "hex");
  return `${part.slice(0, MAX_PART - digest.length - 1)}~${digest}`;
}

/** Formats a number as part of a key, so that keys are in the order of the numbers. */
export const digits = (value: number, width: number): string => String(value).padStart(width, "0");
