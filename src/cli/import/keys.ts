/**
 * Credentials of the source as references. What the source reads from its environment is read from there; what is
 * written out gets the name of a variable to put it into, and goes nowhere else.
 */

import type { Section } from "./source.ts";

export type Role = "key" | "address";

export interface Variables {
  /** By name, what each is for. */
  readonly used: ReadonlyMap<string, Role>;
  /** Of those, what the source reads itself. */
  readonly asked: ReadonlySet<string>;
  /** A text of the source as a reference; undefined where the key is absent or empty. */
  reference(section: Section, key: string, usual: string, role?: Role): string | undefined;
  /** A variable that the source reads without naming it. */
  named(name: string, role?: Role): string;
}

/**
 * `read` gives the name of the variable that a text of the source refers to. What is written out gets no name of
 * `reserved`: under it the environment may hold another key already.
 */
export function openVariables(
  read: (text: string) => string | undefined,
  reserved: ReadonlySet<string> = new Set(),
): Variables {
  const used = new Map<string, Role>();
  const asked = new Set<string>();
  const literals = new Map<string, string>();
  const reference = (name: string, role: Role): string => {
    if (used.get(name) !== "address") used.set(name, role);
    return `\${${name}}`;
  };
  const named = (name: string, role: Role = "key"): string => {
    asked.add(name);
    return reference(name, role);
  };
  return {
    used,
    asked,
    named,
    reference(section, key, usual, role = "key") {
      const text = section.text(key);
      if (text === undefined || text.trim() === "") return undefined;
      const variable = read(text.trim()) ?? commonReference(text.trim());
      if (variable !== undefined && VARIABLE.test(variable)) return named(variable, role);
      const before = literals.get(text);
      const name = before ?? freeName(usual, new Set([...used.keys(), ...literals.values(), ...reserved]));
      literals.set(text, name);
      section.tell(key, `not copied, because it is a literal credential; set the environment variable ${name} to it`);
      return reference(name, role);
    },
  };
}

/** The note on a text that is written out in the source. */
export const NAMES_VARIABLE =
  /^not copied, because it is a literal credential; set the environment variable (\w+) to it$/;

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;

/** As shells and templates write it. */
export function commonReference(text: string): string | undefined {
  const [, braced, doubled, bare] =
    /^(?:\$\{([A-Za-z_]\w*)\}|\{\{\s*(?:env\.)?([A-Za-z_]\w*)\s*\}\}|\$([A-Za-z_]\w*))$/.exec(text) ?? [];
  return braced ?? doubled ?? bare;
}

function freeName(usual: string, names: ReadonlySet<string>): string {
  const base =
    usual
      .toUpperCase()
      .replace(/[^A-Z0-9]+/g, "_")
      .replace(/^(?=\d)/, "_")
      .slice(0, 200) || "API_KEY";
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? base : `${base}_${n}`;
    if (!names.has(name)) return name;
  }
}
