/** Finds the parts of the document that a proposal changes. */
import { type Difference, differencesOf } from "../core/config/index.ts";
import type { ConfigurationSide } from "./types.ts";

interface DocumentDifference {
  readonly differences: readonly Difference[];
  /**
   * Returns true if something differs at or below a part: a section such as `auth`, an entry such as `providers/main`, or "" for
   * the whole document.
   */
  readonly isChanged: (part: string) => boolean;
}

/** Matches names that a path writes after a dot. */
const PLAIN = /^[A-Za-z_][A-Za-z0-9_-]*$/;

export function compareDocuments(inForce: ConfigurationSide, proposed: ConfigurationSide): DocumentDifference {
  const differences = differencesOf(inForce.document, proposed.document);
  const isChangedByPart = new Map<string, boolean>();
  const hasDifferenceIn = (part: string): boolean => {
    if (part === "") return differences.length > 0;
    const slash = part.indexOf("/");
    const section = slash < 0 ? part : part.slice(0, slash);
    const name = slash < 0 ? undefined : part.slice(slash + 1);
    return differences.some(({ path }) => {
      if (!isAtOrBelow(path, section)) return false;
      // The whole section is meant or differs (such as the order of its entries), or the name is written differently in paths.
      if (name === undefined || path === section || !PLAIN.test(name)) return true;
      const below = path.slice(section.length + 1);
      return isAtOrBelow(below, name) || path[section.length] !== ".";
    });
  };
  return {
    differences,
    isChanged(part) {
      let differs = isChangedByPart.get(part);
      if (differs === undefined) {
        differs = hasDifferenceIn(part);
        isChangedByPart.set(part, differs);
      }
      return differs;
    },
  };
}

const isAtOrBelow = (path: string, name: string): boolean =>
  path === name || (path.startsWith(name) && (path[name.length] === "." || path[name.length] === "["));
