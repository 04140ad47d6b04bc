/** Envelope of a command: originator, sequence number and command. Source: cluster reference, 6.1. */

import { integer, label, Malformed, object, optional, type Parser, shaped, text } from "./fields.ts";
import type { Command } from "./types.ts";

export const actor = object({ iss: label(512), sub: label(512) });

/** Fields of the envelope, in addition to those of the command. */
export const envelopeParts = object({
  v: integer(1),
  t: text(/^[a-z]+\.[a-z_]+$/, 64),
  id: text(/^[\x21-\x7e]+$/, 64),
  c: text(/^[0-9A-Za-z_-]+$/, 64),
  s: integer(1),
  by: actor,
  k: optional(label(1_024)),
  kd: optional(text(/^[\x21-\x7e]+$/, 128)),
  p: shaped(((value) => value ?? null) as Parser<NonNullable<unknown> | null>, () => "fields of the command"),
});

/** Parses a command of any version. Returns `undefined` if `value` is not one; every replica refuses it then. */
export function readCommand(value: unknown): Command | undefined {
  try {
    const command = envelopeParts(value);
    return (command.k === undefined) === (command.kd === undefined) ? command : undefined;
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}
