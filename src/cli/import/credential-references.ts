/**
 * Converts credentials of the source to references. A variable that the source reads keeps its name. A literal credential gets the
 * name of a new variable, and its text is not copied.
 */

import type { Section } from "./foreign-source.ts";

export type Role = "key" | "address";

export interface Variables {
  /** Role of each variable, by name. */
  readonly used: ReadonlyMap<string, Role>;
  /** Variables that the source itself reads. */
  readonly sourceVariables: ReadonlySet<string>;
  /** Returns a reference for a text of the source, or `undefined` if the key is absent or empty. */
  reference(section: Section, key: string, defaultName: string, role?: Role): string | undefined;
  /** Returns a reference to a variable that the source reads without naming it. */
  referenceTo(name: string, role?: Role): string;
}

/**
 * Collects the variables of an import. `read` returns the variable that a text of the source refers to. New variables
 * do not get names in `reserved`, because the environment may contain other values under these names.
 */
export function createVariables(
  read: (text: string) => string | undefined,
  reserved: ReadonlySet<string> = new Set(),
): Variables {
  const used = new Map<string, Role>();
  const sourceVariables = new Set<string>();
  const literals = new Map<string, string>();
  const reference = (name: string, role: Role): string => {
    if (used.get(name) !== "address") used.set(name, role);
    return `\${${name}}`;
  };
  const referenceTo = (name: string, role: Role = "key"): string => {
    sourceVariables.add(name);
    return reference(name, role);
  };
  return {
    used,
    sourceVariables,
    referenceTo,
    reference(section, key, defaultName, role = "key") {
      const text = section.text(key);
      if (text === undefined || text.trim() === "") return undefined;
      const variable = read(text.trim()) ?? commonReference(text.trim());
      if (variable !== undefined && VARIABLE.test(variable)) return referenceTo(variable, role);
      const before = literals.get(text);
      const name = before ?? freeName(defaultName, new Set([...used.keys(), ...literals.values(), ...reserved]));
      literals.set(text, name);
      section.addNote(
        key,
        `not copied, because it is a literal credential; set the environment variable ${name} to it`,
      );
      return reference(name, role);
    },
  };
}

/** Matches the note on a literal credential. */
export const NAMES_VARIABLE =
  /^not copied, because it is a literal credential; set the environment variable (\w+) to it$/;

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;

/** Returns the variable of a reference as shells and templates write it. */
function commonReference(text: string): string | undefined {
  const [, braced, doubled, bare] =
    /^(?:\$\{([A-Za-z_]\w*)\}|\{\{\s*(?:env\.)?([A-Za-z_]\w*)\s*\}\}|\$([A-Za-z_]\w*))$/.exec(text) ?? [];
  return braced ?? doubled ?? bare;
}

function freeName(defaultName: string, names: ReadonlySet<string>): string {
  const base =
    defaultName
      .toUpperCase()
      .replace(/[^A-Z0-9]+/g, "_")
      .replace(/^(?=\d)/, "_")
      .slice(0, 200) || "API_KEY";
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? base : `${base}_${n}`;
    if (!names.has(name)) return name;
  }
}
